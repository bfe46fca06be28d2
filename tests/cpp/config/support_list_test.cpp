#include "config/support_list.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/temporary_folder.h"

namespace msprobe {
namespace {

using Names = std::vector<std::string>;

#define EXPECT_CONTAINS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST(SupportListTest, BuiltInListHasEveryCategory) {
  const Result<SupportList> list = LoadSupportList(Framework::kPyTorch, "");
  ASSERT_TRUE(list.ok()) << list.error().message;
  EXPECT_TRUE(list->Contains("functional", "conv2d"));
  EXPECT_TRUE(list->Contains("tensor", "__add__"));
  EXPECT_TRUE(list->Contains("torch", "linalg.norm"));
  EXPECT_TRUE(list->Contains("torch_npu", "npu_swiglu"));
  EXPECT_TRUE(list->Contains("distributed", "all_reduce"));
  EXPECT_FALSE(list->Contains("functional", "all_reduce"));
  EXPECT_FALSE(list->Contains("nothing", "conv2d"));
  EXPECT_TRUE(IsKnownCheckerName(*list, "conv2d"));
  EXPECT_FALSE(IsKnownCheckerName(*list, "all_reduce"));
  EXPECT_FALSE(IsKnownCheckerName(*list, ""));
}

TEST(SupportListTest, ReadsAnEditedFile) {
  TemporaryFolder folder;
  const Result<SupportList> list = LoadSupportList(
      Framework::kPyTorch, folder.Write("list.yaml", "functional:\n  - b\n  - a\n  - b\nmine: []\ntensor:\n"));
  ASSERT_TRUE(list.ok()) << list.error().message;
  EXPECT_EQ(list->categories.at("functional"), Names({"b", "a"}));
  EXPECT_TRUE(list->categories.at("mine").empty());
  EXPECT_TRUE(list->categories.at("tensor").empty());
}

TEST(SupportListTest, ErrorsNameFileLineAndKey) {
  TemporaryFolder folder;
  const Result<SupportList> list =
      LoadSupportList(Framework::kPyTorch, folder.Write("list.yaml", "functional:\n  - a\ntensor:\n  - {x: 1}\n"));
  ASSERT_FALSE(list.ok());
  EXPECT_CONTAINS(list.error().message, "list.yaml, line 4: \"tensor\"");
  EXPECT_FALSE(LoadSupportList(Framework::kPyTorch, folder.path() + "/absent.yaml").ok());
  EXPECT_FALSE(LoadSupportList(Framework::kPyTorch, folder.Write("list.txt", "a: []\n")).ok());
  EXPECT_FALSE(LoadSupportList(Framework::kPyTorch, folder.Write("self.yaml", "a: &x [*x]\n")).ok());
}

TEST(SupportListTest, AnOverlayAddsAndTakesAway) {
  TemporaryFolder folder;
  const std::string base = folder.Write("list.yaml", "functional: [a, b, c]\ntorch: [linalg.norm, linalg.qr, add]\n");
  const Names overlays = {folder.Write("one.yaml", "functional: [d, -b, b2, -absent]\ntensor: [x]\n"),
                          folder.Write("two.yaml", "functional: [b, -a]\ntorch: [-linalg.*]\n")};
  const Result<SupportList> list = LoadSupportList(Framework::kPyTorch, base, overlays);
  ASSERT_TRUE(list.ok()) << list.error().message;
  EXPECT_EQ(list->categories.at("functional"), Names({"c", "d", "b2", "b"}));
  EXPECT_EQ(list->categories.at("tensor"), Names({"x"}));
  EXPECT_EQ(list->categories.at("torch"), Names({"add"}));
  EXPECT_TRUE(list->PatternModules("torch").empty());
}

TEST(SupportListTest, PatternsChooseFromWhatTheFrameworkHas) {
  TemporaryFolder folder;
  const std::string base = folder.Write("list.yaml", "torch: [add, linalg.qr]\n");
  const Names overlays = {folder.Write(
      "one.yaml", "torch: ['linalg.*', 'fft.?fft', '*_copy', '_for*', -linalg.svd, '-linalg.*_ex', linalg.lu_ex]\n")};
  const Result<SupportList> list = LoadSupportList(Framework::kPyTorch, base, overlays);
  ASSERT_TRUE(list.ok()) << list.error().message;
  EXPECT_EQ(list->PatternModules("torch"), Names({"linalg", "fft", ""}));
  EXPECT_TRUE(list->PatternModules("tensor").empty());
  EXPECT_EQ(list->Resolve("torch", {"linalg.norm", "linalg.qr", "linalg.svd", "linalg.inv_ex", "linalg.lu_ex",
                                    "linalg._a", "linalg.sub.f", "fft.rfft", "fft.fft", "fft.rfft2", "t_copy",
                                    "_foreach", "_other", "mul", "linalg.norm"}),
            Names({"add", "linalg.qr", "linalg.lu_ex", "linalg.norm", "fft.rfft", "t_copy", "_foreach"}));
  EXPECT_FALSE(list->Contains("torch", "linalg.norm")) << "a pattern lets nothing be called";
  EXPECT_TRUE(list->IsGivenByPattern("torch", "linalg.norm"));
  EXPECT_FALSE(list->IsGivenByPattern("tensor", "linalg.norm"));
}

TEST(SupportListTest, WildcardsCostNoMoreThanTheProductOfTheLengths) {
  TemporaryFolder folder;
  const std::string base = folder.Write("list.yaml", "torch: ['" + std::string(200, '*') + "a*a*a*a*a*a*a*a*a*b']\n");
  const Result<SupportList> list = LoadSupportList(Framework::kPyTorch, base);
  ASSERT_TRUE(list.ok());
  EXPECT_FALSE(list->IsGivenByPattern("torch", std::string(100'000, 'a')));
  EXPECT_TRUE(list->IsGivenByPattern("torch", std::string(100'000, 'a') + "b"));
}

TEST(SupportListTest, WrongOverlaysAreNamed) {
  TemporaryFolder folder;
  const auto refused = [&](const char* text) {
    const Result<SupportList> list = LoadSupportList(Framework::kPyTorch, "", {folder.Write("mine.yaml", text)});
    EXPECT_FALSE(list.ok()) << text;
    return list.ok() ? std::string() : list.error().message;
  };
  EXPECT_CONTAINS(refused("functionals: [a]\n"),
                  "mine.yaml, line 1: \"functionals\" is not a category; did you mean \"functional\"?");
  EXPECT_CONTAINS(refused("torch: ['lin*.norm']\n"),
                  "holds \"lin*.norm\", which may have '*' and '?' behind the last dot only");
  EXPECT_CONTAINS(refused("torch: ['-']\n"), "holds an empty name");
  EXPECT_CONTAINS(refused("torch: add\n"), "must be a list of names");
  EXPECT_FALSE(LoadSupportList(Framework::kPyTorch, "", {folder.path() + "/absent.yaml"}).ok());
  EXPECT_FALSE(LoadSupportList(Framework::kPyTorch, "", {folder.path()}).ok());
}

TEST(SupportListTest, OverlaysOfConfigurationAndEnvironment) {
  TemporaryFolder folder;
  const std::string one = folder.Write("one.yaml", "torch: [a]\n");
  const std::string two = folder.Write("two.yaml", "torch: [b]\n");
  ASSERT_EQ(setenv("MSPROBE_SUPPORT_LIST", (":" + two + ":").c_str(), 1), 0);
  const Result<Names> paths = FindSupportOverlays({one, ""});
  ASSERT_EQ(setenv("MSPROBE_SUPPORT_LIST", (two + ":/no/such.yaml").c_str(), 1), 0);
  const Result<Names> absent = FindSupportOverlays({});
  ASSERT_EQ(unsetenv("MSPROBE_SUPPORT_LIST"), 0);
  ASSERT_TRUE(paths.ok()) << paths.error().message;
  EXPECT_EQ(*paths, Names({one, two}));
  ASSERT_FALSE(absent.ok());
  EXPECT_CONTAINS(absent.error().message, "/no/such.yaml does not exist");
  EXPECT_TRUE(FindSupportOverlays({})->empty());
}

}  // namespace
}  // namespace msprobe
