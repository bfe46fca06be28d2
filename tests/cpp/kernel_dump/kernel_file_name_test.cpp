#include "kernel_dump/kernel_file_name.h"

#include <gtest/gtest.h>

#include "kernel_dump/kernel_samples.h"

namespace msprobe {
namespace {

TEST(KernelFileNameTest, NamesOfMindSpore) {
  const auto name = ParseKernelFileName(kInput1);
  ASSERT_TRUE(name);
  EXPECT_EQ(name->op_type, "Conv2D");
  EXPECT_EQ(name->op_name, "Default_network-WithLossCell__backbone-Net_conv-Conv2d_Conv2D-op0");
  EXPECT_EQ(name->task_id, "0");
  EXPECT_EQ(name->stream_id, "0");
  EXPECT_EQ(name->timestamp, "1796007277999592");
  EXPECT_FALSE(name->is_output);
  EXPECT_EQ(name->slot, "1");
  EXPECT_EQ(name->data_type, "float32");
  EXPECT_TRUE(ParseKernelFileName(kOutput0)->is_output);
}

TEST(KernelFileNameTest, NamesAreParsedFromTheRight) {
  const auto dots = ParseKernelFileName("Parameter.net.1.2.3.input.0.weight.4.5.6.output.7.NCHW.Int64.npy");
  ASSERT_TRUE(dots);
  EXPECT_EQ(dots->op_name, "net.1.2.3.input.0.weight");
  EXPECT_EQ(dots->task_id + dots->stream_id + dots->timestamp + dots->slot, "4567");
  EXPECT_TRUE(dots->is_output);
  const auto slot = ParseKernelFileName("A.b.1.2.3.input.4.5.ND.Bool.npy");
  ASSERT_TRUE(slot);
  EXPECT_EQ(slot->slot, "4.5");
  EXPECT_EQ(slot->data_type, "bool");
  const auto no_type = ParseKernelFileName("A.b.1.2.3.input.4.ND.npy");
  ASSERT_TRUE(no_type);
  EXPECT_EQ(no_type->data_type, "");
  EXPECT_EQ(no_type->slot, "4");
}

TEST(KernelFileNameTest, OtherNames) {
  for (const char* name :
       {"", ".npy", "weights.npy", "statistic.csv", "A.b.1.2.3.input.4.ND.Bool.bin", "input.0.npy",
        "A.b.1.2.3.input.npy", "A.b.1.2.3.input.4.npy", "b.1.2.3.input.4.ND.Bool.npy", "A.b.1.x.3.input.4.ND.Bool.npy",
        "A.b.1.2.3.both.4.ND.npy", "A.b.1.2..input.4.ND.npy", "A.b.1.2.3.input.4.a.b.c.npy", "......input.......npy"}) {
    EXPECT_FALSE(ParseKernelFileName(name)) << name;
  }
}

}  // namespace
}  // namespace msprobe
