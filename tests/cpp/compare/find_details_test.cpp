#include <gtest/gtest.h>

#include <string>

#include "base/temporary_folder.h"
#include "compare/compare.h"

namespace msprobe {
namespace {

#define EXPECT_CONTAINS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

class FindDetailsTest : public ::testing::Test {
 protected:
  std::string Add(const std::string& stamp, const std::string& device) {
    if (!device.empty()) folder_.Write("accuracy_checking_details_" + stamp + ".device", device + "\n");
    return folder_.Write("accuracy_checking_details_" + stamp + ".csv", "");
  }

  std::string Refused(const std::string& npu = "", const std::string& gpu = "") {
    const Result<DetailsPair> pair = FindDetailsFiles(npu, gpu, folder_.path());
    EXPECT_FALSE(pair.ok());
    if (pair.ok()) return {};
    EXPECT_EQ(pair.error().code, ErrorCode::kUsage);
    return pair.error().message;
  }

  TemporaryFolder folder_;
};

TEST_F(FindDetailsTest, RolesFollowTheRecordedDevice) {
  const std::string gpu = Add("20250101000000", "cuda");
  const std::string npu = Add("20250101000001", "npu");
  folder_.Write("accuracy_checking_result_20250101000001.csv", "");
  const Result<DetailsPair> pair = FindDetailsFiles("", "", folder_.path());
  ASSERT_TRUE(pair.ok()) << pair.error().message;
  EXPECT_EQ(pair->npu_csv, npu);
  EXPECT_EQ(pair->gpu_csv, gpu);
}

TEST_F(FindDetailsTest, GivenPathsAreTakenAsTheyAre) {
  const Result<DetailsPair> pair = FindDetailsFiles("a.csv", "a.csv", folder_.path());
  ASSERT_TRUE(pair.ok());
  EXPECT_EQ(pair->npu_csv, "a.csv");
}

TEST_F(FindDetailsTest, TheMissingOneIsFound) {
  const std::string gpu = Add("20250101000000", "cuda");
  const std::string npu = Add("20250101000001", "npu");
  EXPECT_EQ(FindDetailsFiles("other.csv", "", folder_.path())->gpu_csv, gpu);
  EXPECT_EQ(FindDetailsFiles("", "other.csv", folder_.path())->npu_csv, npu);
  EXPECT_CONTAINS(Refused(gpu, ""), "-gpu is not given");  // never one file as both
  EXPECT_CONTAINS(Refused("", npu), "-npu is not given");
}

TEST_F(FindDetailsTest, AnythingElseIsAUsageErrorThatNamesTheFiles) {
  EXPECT_CONTAINS(Refused(), "no accuracy_checking_details file");
  Add("20250101000000", "npu");
  EXPECT_CONTAINS(Refused(), "accuracy_checking_details_20250101000000.csv (device)");
  Add("20250101000001", "");
  EXPECT_CONTAINS(Refused(), "accuracy_checking_details_20250101000001.csv (origin not recorded)");
  Add("20250101000001", "npu");
  Refused();
  Add("20250101000001", "cpu");
  EXPECT_CONTAINS(Refused(), "accuracy_checking_details_20250101000001.csv (CPU)");
  Add("20250101000001", "cuda");
  EXPECT_TRUE(FindDetailsFiles("", "", folder_.path()).ok());
  Add("20250101000002", "");
  EXPECT_CONTAINS(Refused(), "give -npu and -gpu");
}

TEST_F(FindDetailsTest, AMissingFolderIsNoCrash) {
  EXPECT_FALSE(FindDetailsFiles("", "", folder_.path() + "/absent").ok());
}

}  // namespace
}  // namespace msprobe
