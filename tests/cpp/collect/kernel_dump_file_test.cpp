#include "collect/kernel_dump_file.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/temporary_folder.h"

namespace msprobe {
namespace {

using Environment = std::vector<std::pair<std::string, std::string>>;

class KernelDumpFileTest : public ::testing::Test {
 protected:
  Result<DumpSettings> Load(std::string_view json) {
    DumpSettingsRequest request;
    request.config_path = folder_.Write("config.json", json);
    return LoadDumpSettings(request, Framework::kMindSpore);
  }

  // Of a configuration with these keys beside the level and the path.
  KernelDumpFile Made(std::string_view keys, const KernelDumpTarget& target = {}) {
    const Result<DumpSettings> settings = Load(Config(keys));
    EXPECT_TRUE(settings.ok()) << (settings.ok() ? "" : settings.error().message);
    if (!settings.ok()) return {};
    Result<KernelDumpFile> file = MakeKernelDumpFile(*settings, target);
    EXPECT_TRUE(file.ok()) << (file.ok() ? "" : file.error().message);
    return file.ok() ? std::move(*file) : KernelDumpFile();
  }

  std::string Refused(std::string_view keys) {
    const Result<DumpSettings> settings = Load(Config(keys));
    if (!settings.ok()) return settings.error().message;
    const Status checked = CheckKernelNames(*settings);
    EXPECT_FALSE(checked.ok()) << keys;
    return checked.ok() ? "" : checked.error().message;
  }

  static std::string Config(std::string_view keys) {
    return R"({"level": "L2", "dump_path": "/data/k")" + std::string(keys.empty() ? "" : ", ") + std::string(keys) +
           "}";
  }

  TemporaryFolder folder_;
};

// Without white space, for short expectations.
std::string Compact(std::string text) {
  std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
  return text;
}

TEST_F(KernelDumpFileTest, KernelByKernelStatistics) {
  const KernelDumpFile file = Made(R"("task": "statistics", "step": [0, 2], "rank": [1])");
  EXPECT_EQ(file.path, "/data/k/kernel_kbyk_dump.json");
  EXPECT_EQ(file.content, R"({
    "common_dump_settings": {
        "dump_mode": 0,
        "path": "/data/k",
        "net_name": "Net",
        "iteration": "0|2",
        "saved_data": "statistic",
        "input_output": 0,
        "kernels": [],
        "support_device": [
            1
        ]
    },
    "e2e_dump_settings": {
        "enable": true,
        "trans_flag": true
    }
}
)");
  EXPECT_EQ(file.environment, (Environment{{"MINDSPORE_DUMP_CONFIG", file.path}, {"MS_ACL_DUMP_CFG_PATH", ""}}));
}

TEST_F(KernelDumpFileTest, GraphEngineTensors) {
  const KernelDumpFile file = Made(
      R"x("task": "tensor", "tensor": {"list": ["name-regex(Default/.+)"], "data_mode": ["output"], "file_format": "bin"})x",
      {.is_graph_engine = true});
  EXPECT_EQ(file.path, "/data/k/kernel_graph_dump.json");
  EXPECT_EQ(Compact(file.content),
            R"({"common_dump_settings":{"dump_mode":1,"path":"/data/k","net_name":"Net","iteration":"all",)"
            R"x("saved_data":"tensor","input_output":2,"kernels":["name-regex(Default/.+)"],)x"
            R"("support_device":[0,1,2,3,4,5,6,7],"op_debug_mode":0,"file_format":"bin"}})");
  EXPECT_EQ(file.environment, (Environment{{"MINDSPORE_DUMP_CONFIG", file.path}, {"MS_ACL_DUMP_CFG_PATH", ""}}));
}

TEST_F(KernelDumpFileTest, GraphEngineWithoutAListNeedsItsOwnVariable) {
  const KernelDumpFile file = Made(R"("task": "statistics")", {.is_graph_engine = true});
  EXPECT_EQ(file.environment, (Environment{{"MINDSPORE_DUMP_CONFIG", file.path}, {"MS_ACL_DUMP_CFG_PATH", file.path}}));
}

TEST_F(KernelDumpFileTest, TheOrderOfStepsAndRanksIsTheUsers) {
  const std::string content = Compact(Made(R"("step": ["4-5", 0, 4], "rank": [3, 1])").content);
  EXPECT_NE(content.find(R"("iteration":"4|5|0")"), std::string::npos) << content;
  EXPECT_NE(content.find(R"("support_device":[3,1])"), std::string::npos) << content;
}

TEST_F(KernelDumpFileTest, OneSideAlone) {
  EXPECT_NE(Made(R"("statistics": {"data_mode": ["input"]})").content.find("\"input_output\": 1"), std::string::npos);
  EXPECT_NE(Made(R"("statistics": {"data_mode": ["all"]})").content.find("\"input_output\": 0"), std::string::npos);
}

TEST_F(KernelDumpFileTest, StatisticsAreNamedWhereTheFileNamesThem) {
  const auto category = [&](std::string_view mode, const KernelDumpTarget& target) {
    const std::string text =
        Compact(Made(R"("statistics": {"summary_mode": )" + std::string(mode) + "}", target).content);
    const std::size_t begin = text.find("\"statistic_category\":");
    return begin == std::string::npos ? "" : text.substr(begin + 21, text.find(']', begin) - begin - 20);
  };
  EXPECT_EQ(category("\"statistics\"", {}), R"(["max","min","avg","l2norm"])");
  EXPECT_EQ(category("\"md5\"", {}), R"(["md5"])");
  EXPECT_EQ(category("\"md5\"", {.prefixes_hash_names = true}), R"(["hash:md5"])");
  EXPECT_EQ(category(R"(["l2norm", "mean", "l2norm"])", {}), R"(["l2norm","avg"])");
  EXPECT_EQ(category("\"statistics\"", {.stores_statistics = false}), "");
}

TEST_F(KernelDumpFileTest, WhereStatisticsAreComputed) {
  const std::string content =
      Compact(Made(R"("async_dump": true, "statistics": {"device": "device", "precision": "low"})").content);
  EXPECT_NE(content.find(R"("e2e_dump_settings":{"enable":false,"trans_flag":true,"stat_calc_mode":"device",)"
                         R"("device_stat_precision_mode":"low"})"),
            std::string::npos)
      << content;
  EXPECT_EQ(Made(R"("statistics": {"precision": "low"})").content.find("precision_mode"), std::string::npos);
}

TEST_F(KernelDumpFileTest, OnACpuTensorsAreStored) {
  EXPECT_NE(Made("", {.stores_statistics = false}).content.find("\"saved_data\": \"tensor\""), std::string::npos);
}

TEST_F(KernelDumpFileTest, Overflows) {
  for (const auto& [mode, number] :
       std::vector<std::pair<std::string, std::string>>{{"all", "3"}, {"aicore", "1"}, {"atomic", "2"}}) {
    const KernelDumpFile file = Made(R"("task": "overflow_check", "overflow_check": {"check_mode": ")" + mode + "\"}",
                                     {.is_graph_engine = true});
    EXPECT_EQ(file.path, "/data/k/kernel_graph_overflow_check.json");
    EXPECT_NE(Compact(file.content)
                  .find(R"("saved_data":"full","input_output":0,"kernels":[],)"
                        R"("support_device":[0,1,2,3,4,5,6,7],"op_debug_mode":)" +
                        number + R"(,"file_format":"npy"})"),
              std::string::npos)
        << file.content;
  }
  const Result<DumpSettings> settings = Load(Config(R"("task": "overflow_check")"));
  ASSERT_TRUE(settings.ok());
  const Result<KernelDumpFile> refused = MakeKernelDumpFile(*settings, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("needs graph mode with jit_level O2"), std::string::npos);
}

TEST_F(KernelDumpFileTest, WhatMindSporeWouldFailOnIsRefused) {
  EXPECT_NE(
      Refused(R"("statistics": {"data_mode": ["forward"]})").find("must be [\"all\"], [\"input\"] or [\"output\"]"),
      std::string::npos);
  for (const char* list :
       {R"x("statistics": {"list": ["name-regex(a(b)"]})x", R"x("statistics": {"list": ["name-regex(ab"]})x"}) {
    EXPECT_NE(Refused(list).find("whose regular expression cannot be used"), std::string::npos);
  }
  EXPECT_NE(
      Refused(R"("statistics": {"summary_mode": ["max", "nancount"]})").find("holds \"nancount\"; a statistic is"),
      std::string::npos);
  const Result<DumpSettings> dotted = Load(R"({"level": "L2", "dump_path": "/data/v1.0"})");
  ASSERT_FALSE(dotted.ok());
  EXPECT_NE(dotted.error().message.find("\"/data/v1.0\" holds '.'; choose another folder"), std::string::npos);
  const Result<DumpSettings> look_ahead = Load(Config(R"x("statistics": {"list": ["name-regex(a(?=b))"]})x"));
  ASSERT_TRUE(look_ahead.ok());
  EXPECT_TRUE(CheckKernelNames(*look_ahead).ok());  // MindSpore's expressions know it
}

}  // namespace
}  // namespace msprobe
