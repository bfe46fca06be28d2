#include "config/checker_settings.h"

#include <gtest/gtest.h>

#include <string>

#include "base/temporary_folder.h"

namespace msprobe {
namespace {

using Names = std::vector<std::string>;

#define EXPECT_CONTAINS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

class CheckerSettingsTest : public ::testing::Test {
 protected:
  CheckerSettingsTest() : known_(LoadSupportList(Framework::kPyTorch, "").value()) {}

  Result<CheckerSettings> Load(const std::string& yaml, const std::string& json = "") {
    return LoadCheckerSettings(yaml.empty() ? "" : folder_.Write("config.yaml", yaml),
                               json.empty() ? "" : folder_.Write("config.json", json), known_);
  }

  std::string Refused(const std::string& yaml, const std::string& json = "") {
    const Result<CheckerSettings> settings = Load(yaml, json);
    EXPECT_FALSE(settings.ok()) << yaml << json;
    return settings.ok() ? "" : settings.error().message;
  }

  TemporaryFolder folder_;
  SupportList known_;
};

TEST_F(CheckerSettingsTest, BuiltInDefaults) {
  const Result<CheckerSettings> settings = Load("");
  ASSERT_TRUE(settings.ok()) << settings.error().message;
  EXPECT_TRUE(settings->white_list.empty() && settings->black_list.empty());
  EXPECT_EQ(settings->error_data_path, "./");
  EXPECT_EQ(settings->precision, 14);
}

TEST_F(CheckerSettingsTest, ReadsTheYaml) {
  const Result<CheckerSettings> settings =
      Load("white_list: [conv2d, \"relu\"]\nblack_list:\n  - npu_swiglu\nerror_data_path: '" + folder_.path() +
           "'\nprecision: 6\n");
  ASSERT_TRUE(settings.ok()) << settings.error().message;
  EXPECT_EQ(settings->white_list, Names({"conv2d", "relu"}));
  EXPECT_EQ(settings->black_list, Names({"npu_swiglu"}));
  EXPECT_EQ(settings->precision, 6);
}

TEST_F(CheckerSettingsTest, AcceptsTheReferencesYaml) {
  EXPECT_TRUE(
      Load("white_list: []\nblack_list: []\nerror_data_path: './'\nprecision: 14\nis_online: False\nnfs_path: \"\"\n"
           "host: \"\"\nport: -1\nrank_list: [0]\ntls_path: \"\"\n")
          .ok());
  EXPECT_TRUE(Load("white_list:\nblack_list: ~\n").ok());
  EXPECT_TRUE(Load("# nothing\n").ok());
}

TEST_F(CheckerSettingsTest, RefusesWrongYaml) {
  EXPECT_CONTAINS(Refused("precison: 3\n"),
                  "line 1: \"precison\" is not a key of config.yaml; did you mean \"precision\"?");
  EXPECT_CONTAINS(Refused("\nprecision: -1\n"), "line 2: \"precision\"");
  EXPECT_CONTAINS(Refused("precision: '14'\n"), "whole number");
  EXPECT_CONTAINS(Refused("precision: true\n"), "whole number");
  EXPECT_CONTAINS(Refused("precision: 1000000000\n"), "whole number");
  EXPECT_CONTAINS(Refused("white_list: conv2d\n"), "\"white_list\" must be a list");
  EXPECT_CONTAINS(Refused("white_list: [[conv2d]]\n"), "\"white_list\"");
  EXPECT_CONTAINS(Refused("is_online: True\n"), "online");
  EXPECT_CONTAINS(Refused("white_list: [conv2d\n"), "not valid YAML at line");
  EXPECT_CONTAINS(Refused("- a\n"), "keys with values");
  EXPECT_CONTAINS(Refused("error_data_path: /no/such/folder\n"), "does not exist");
  EXPECT_FALSE(LoadCheckerSettings(folder_.path() + "/absent.yaml", "", known_).ok());
}

TEST_F(CheckerSettingsTest, DeepYamlIsHarmless) {
  EXPECT_CONTAINS(Refused("white_list: " + std::string(100000, '[')), "not valid YAML");
}

TEST_F(CheckerSettingsTest, UnknownNamesComeWithTheNearest) {
  const std::string message = Refused("black_list: [conv2, Functional.relu, zzzzzzzz, linear]\n");
  EXPECT_CONTAINS(message, "\"black_list\" holds unknown API names");
  EXPECT_CONTAINS(message, "\"conv2\" (did you mean \"conv");
  EXPECT_CONTAINS(message, "\"Functional.relu\" (did you mean \"relu\"?)");
  EXPECT_CONTAINS(message, "\"zzzzzzzz\"");
  EXPECT_EQ(message.find("linear"), std::string::npos);
}

TEST_F(CheckerSettingsTest, AJsonReplacesTheListsButNotThePrecision) {
  const std::string yaml = "white_list: [conv2d]\nblack_list: [relu]\nprecision: 5\n";
  const Result<CheckerSettings> settings = Load(yaml, R"({"task": "run_ut", "run_ut": {"black_list": ["linear"]}})");
  ASSERT_TRUE(settings.ok()) << settings.error().message;
  EXPECT_TRUE(settings->white_list.empty());
  EXPECT_EQ(settings->black_list, Names({"linear"}));
  EXPECT_EQ(settings->precision, 5);
  EXPECT_EQ(Load("", R"({"acc_check": {"white_list": ["relu"]}})")->white_list, Names({"relu"}));
  EXPECT_TRUE(Load("", R"({})").ok());
  EXPECT_TRUE(Load("", R"({"run_ut": null})").ok());
}

TEST_F(CheckerSettingsTest, RefusesAWrongJson) {
  EXPECT_CONTAINS(Refused("", R"({"run_ut": {"white_list": ["convd"]}})"),
                  "\"run_ut.white_list\" holds unknown API names: \"convd\"");
  EXPECT_CONTAINS(Refused("", R"({"run_ut": {"white_list": "conv2d"}})"), "\"run_ut.white_list\" is \"conv2d\"");
  EXPECT_CONTAINS(Refused("", R"({"run_ut": {"error_data_path": "/no/such"}})"),
                  "\"run_ut.error_data_path\": /no/such does not exist");
  EXPECT_CONTAINS(Refused("", R"({"run_ut": {"is_online": true}})"), "online");
  EXPECT_CONTAINS(Refused("", R"({"task": "what"})"), "\"task\" is \"what\"");
  EXPECT_CONTAINS(Refused("", R"({"level": "L7"})"), "\"level\"");
  EXPECT_CONTAINS(Refused("", "{\"run_ut\": {},}"), "the comma before '}'");
}

TEST_F(CheckerSettingsTest, UnknownJsonKeysAreWarned) {
  const Result<CheckerSettings> settings = Load("", R"({"run_ut": {"whitelist": []}})");
  ASSERT_TRUE(settings.ok());
  ASSERT_EQ(settings->warnings.size(), 1U);
  EXPECT_CONTAINS(settings->warnings[0], "did you mean \"white_list\"?");
}

}  // namespace
}  // namespace msprobe
