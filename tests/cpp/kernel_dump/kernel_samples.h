#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/temporary_folder.h"
#include "record/tensor_file.h"

namespace msprobe {

/// Names as MindSpore 2.10 writes them on a CPU.
inline const std::string kConvolution = "Conv2D.Default_network-WithLossCell__backbone-Net_conv-Conv2d_Conv2D-op0.0.0.";
inline const std::string kInput0 = kConvolution + "1796007277999374.input.0.DefaultFormat.Float32.npy";
inline const std::string kInput1 = kConvolution + "1796007277999592.input.1.DefaultFormat.Float32.npy";
inline const std::string kOutput0 = kConvolution + "1796007277999647.output.0.DefaultFormat.Float32.npy";
inline const std::string kHeader =
    "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,Min Value,Avg Value,"
    "L2Norm Value\n";
inline const std::string kRowStart = "Conv2D,Default_network-WithLossCell__backbone-Net_conv-Conv2d_Conv2D-op0,0,0,";
/// Rows of tensors that WriteSample makes.
inline const std::string kInput0Row = kRowStart + "1796007277999374,input,0,16,float32,\"(2,2)\",4,-2,1.25,5\n";
inline const std::string kOutput0Row = kRowStart + "1796007277999647,output,0,16,float32,\"(2,2)\",4,-2,1.25,5\n";

/// The dump path of one test, with iteration folders below it.
class KernelDump : public TemporaryFolder {
 public:
  std::string Iteration(int iteration, std::string_view rank = "rank_0") const {
    std::string folder = *this / (std::string(rank) + "/Net/0/" + std::to_string(iteration));
    std::filesystem::create_directories(folder);
    return folder;
  }

  static std::set<std::string> Names(const std::string& folder) {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) names.insert(entry.path().filename());
    return names;
  }
};

/// 2 x 2 float32 with mean 1.25 and norm 5.
inline void WriteSample(const std::string& path) {
  const float values[] = {4, -2, 2, 1};
  const std::int64_t shape[] = {2, 2};
  ASSERT_TRUE(WriteNpyFile(path, TensorView{values, DType::kFloat32, shape, {}}).ok());
}

}  // namespace msprobe
