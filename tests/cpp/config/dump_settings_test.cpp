#include "config/dump_settings.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "base/temporary_folder.h"

namespace msprobe {
namespace {

using Numbers = std::vector<std::int64_t>;
using Names = std::vector<std::string>;

class DumpSettingsTest : public ::testing::Test {
 protected:
  Result<DumpSettings> Load(std::string_view json, Framework framework = Framework::kPyTorch) {
    request_.config_path = folder_.Write("config.json", json);
    return LoadDumpSettings(request_, framework);
  }

  DumpSettings Loaded(std::string_view json, Framework framework = Framework::kPyTorch) {
    Result<DumpSettings> settings = Load(json, framework);
    EXPECT_TRUE(settings.ok()) << json << ": " << (settings.ok() ? "" : settings.error().message);
    return settings.ok() ? std::move(*settings) : DumpSettings();
  }

  // The message of a file that must be refused; one line that names the file.
  std::string Refused(std::string_view json, Framework framework = Framework::kPyTorch) {
    const Result<DumpSettings> settings = Load(json, framework);
    EXPECT_FALSE(settings.ok()) << json;
    if (settings.ok()) return {};
    EXPECT_EQ(settings.error().message.find('\n'), std::string::npos);
    return settings.error().message;
  }

  TemporaryFolder folder_;
  DumpSettingsRequest request_;
};

#define EXPECT_CONTAINS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST_F(DumpSettingsTest, PackagedDefault) {
  const Result<DumpSettings> settings = LoadDumpSettings({}, Framework::kPyTorch);
  ASSERT_TRUE(settings.ok()) << settings.error().message;
  EXPECT_EQ(settings->task, Task::kStatistics);
  EXPECT_EQ(settings->level, Level::kL1);
  EXPECT_EQ(settings->task_name, "statistics");
  EXPECT_EQ(settings->level_name, "L1");
  EXPECT_EQ(settings->dump_path, std::filesystem::current_path().string() + "/dump_path");
  EXPECT_TRUE(settings->ranks.empty() && settings->steps.empty() && settings->list.empty() && settings->scope.empty());
  EXPECT_TRUE(settings->data_mode.forward && settings->data_mode.backward && settings->data_mode.input &&
              settings->data_mode.output);
  EXPECT_FALSE(settings->seed.has_value());
  EXPECT_TRUE(settings->extra_info);
  EXPECT_TRUE(settings->warnings.empty());
}

TEST_F(DumpSettingsTest, TheEditablePackagedFileOverridesTheBuiltInOne) {
  request_.packaged_config = folder_.Write("packaged.json", R"({"dump_path": "/p", "level": "L0"})");
  Result<DumpSettings> settings = LoadDumpSettings(request_, Framework::kPyTorch);
  ASSERT_TRUE(settings.ok());
  EXPECT_EQ(settings->level, Level::kL0);
  request_.packaged_config = folder_.path() + "/removed.json";
  settings = LoadDumpSettings(request_, Framework::kPyTorch);
  ASSERT_TRUE(settings.ok());
  EXPECT_EQ(settings->level, Level::kL1);
}

TEST_F(DumpSettingsTest, EveryPartOfAFile) {
  const DumpSettings settings = Loaded(R"({
    "task": "tensor", "dump_path": "/data/run", "rank": [1, 0, "1"], "step": ["4-6", 2, "5"], "level": "mix",
    "extra_info": false,
    "tensor": {"scope": ["Module.a.Linear.forward.0", "Tensor.add.3.backward"], "list": ["relu"],
               "data_mode": ["forward", "input"], "file_format": "npy", "summary_mode": "md5"}})");
  EXPECT_EQ(settings.task, Task::kTensor);
  EXPECT_EQ(settings.level, Level::kMix);
  EXPECT_EQ(settings.dump_path, "/data/run");
  EXPECT_EQ(settings.ranks, Numbers({0, 1}));
  EXPECT_EQ(settings.steps, Numbers({2, 4, 5, 6}));
  EXPECT_EQ(settings.scope, Names({"Module.a.Linear.forward.0", "Tensor.add.3.backward"}));
  EXPECT_EQ(settings.list, Names({"relu"}));
  EXPECT_TRUE(settings.data_mode.forward && settings.data_mode.input);
  EXPECT_FALSE(settings.data_mode.backward || settings.data_mode.output);
  EXPECT_EQ(settings.summary_mode, SummaryMode::kMd5);
  EXPECT_FALSE(settings.extra_info);
  EXPECT_TRUE(settings.warnings.empty());
}

TEST_F(DumpSettingsTest, NullAndEmptyAreMissing) {
  const DumpSettings settings =
      Loaded(R"({"task": "", "level": null, "dump_path": "/d", "rank": null, "statistics": null, "tensor": {}})");
  EXPECT_EQ(settings.task, Task::kStatistics);
  EXPECT_EQ(settings.level, Level::kL1);
  const DumpSettings tensor =
      Loaded(R"({"task": "tensor", "dump_path": "/d", "tensor": {"list": null, "data_mode": []}})");
  EXPECT_TRUE(tensor.data_mode.backward);
}

TEST_F(DumpSettingsTest, OfARepeatedKeyTheLastCounts) {
  EXPECT_EQ(Loaded(R"({"dump_path": "/a", "level": "L0", "level": "L1"})").level, Level::kL1);
}

TEST_F(DumpSettingsTest, ArgumentsWinOverTheFile) {
  request_.task = "tensor";
  request_.dump_path = "relative/out";
  request_.level = "L0";
  request_.steps = Names{"3", "\"4-6\""};
  const DumpSettings settings = Loaded(R"({"task": "statistics", "dump_path": "/d", "level": "L1", "step": [9],
      "statistics": {"list": ["ignored"]}, "tensor": {"list": ["used"]}})");
  EXPECT_EQ(settings.task, Task::kTensor);
  EXPECT_EQ(settings.level, Level::kL0);
  EXPECT_EQ(settings.dump_path, std::filesystem::current_path().string() + "/relative/out");
  EXPECT_EQ(settings.steps, Numbers({3, 4, 5, 6}));
  EXPECT_EQ(settings.list, Names({"used"}));
}

TEST_F(DumpSettingsTest, EmptyArgumentsDoNotWinExceptTheListOfSteps) {
  request_.task = "";
  request_.dump_path = "";
  request_.level = "";
  request_.steps = Names{};
  const DumpSettings settings = Loaded(R"({"task": "tensor", "dump_path": "/d", "level": "L0", "step": [9]})");
  EXPECT_EQ(settings.task, Task::kTensor);
  EXPECT_EQ(settings.level, Level::kL0);
  EXPECT_EQ(settings.dump_path, "/d");
  EXPECT_TRUE(settings.steps.empty());
}

TEST_F(DumpSettingsTest, WrongArgumentsAreNamed) {
  const char* file = R"({"dump_path": "/d"})";
  request_.level = "L9";
  EXPECT_CONTAINS(Refused(file), "the argument level is \"L9\"");
  request_.level.reset();
  request_.task = "tensors";
  EXPECT_CONTAINS(Refused(file), "the argument task is \"tensors\"");
  request_.task.reset();
  for (const char* element : {"true", "-1", "1.5", "\"6-4\"", "\"a\"", "[1]", "nonsense", "1000001", "\"1-1000001\""}) {
    request_.steps = Names{element};
    EXPECT_CONTAINS(Refused(file), "the argument step");
  }
}

TEST_F(DumpSettingsTest, SyntaxErrorsNameFileLineAndColumn) {
  const std::string comma = Refused("{\n  \"dump_path\": \"/d\",\n  \"rank\": [],\n}\n");
  EXPECT_CONTAINS(comma, "config.json: not valid JSON at line 3, column 13: the comma before '}' is not allowed");
  EXPECT_CONTAINS(Refused("{\"rank\": [1, ]}"), "line 1, column 12: the comma before ']'");
  EXPECT_CONTAINS(Refused("{\n// note\n\"rank\": []}"), "line 2, column 1: comments are not allowed");
  EXPECT_CONTAINS(Refused("{\"rank\": []"), "ends too early");
  EXPECT_CONTAINS(Refused("{'rank': []}"), "line 1, column 2: JSON wants double quotes");
  EXPECT_CONTAINS(Refused("{\"rank\": [] \"step\": []}"), "line 1, column 13");
  EXPECT_CONTAINS(Refused(""), "line 1, column 1");
  EXPECT_CONTAINS(Refused("[]"), "a list where an object");
  EXPECT_CONTAINS(Refused("{} {}"), "line 1, column 4");
  EXPECT_CONTAINS(Refused("{\"dump_path\": \"\xFF\"}"), "line 1");
}

TEST_F(DumpSettingsTest, DeepNestingIsHarmless) {
  const std::string deep = std::string(2'000'000, '[') + std::string(2'000'000, ']');
  EXPECT_CONTAINS(Refused("{\"rank\": " + deep + "}"), "\"rank\" holds a list");
  EXPECT_CONTAINS(Refused("{\"rank\": " + std::string(2'000'000, '[')), "ends too early");
}

TEST_F(DumpSettingsTest, WrongValuesNameKeyValueAndWhatIsAllowed) {
  EXPECT_CONTAINS(Refused(R"({"dump_path": "/d", "task": "tensors"})"),
                  "\"task\" is \"tensors\"; it must be \"statistics\"");
  EXPECT_CONTAINS(Refused(R"({"dump_path": "/d", "level": "l1"})"), "\"L0\", \"L1\", \"L2\", \"mix\" or \"debug\"");
  EXPECT_CONTAINS(Refused(R"({"dump_path": "/d", "rank": 0})"), "\"rank\" is 0; it must be a list");
  EXPECT_CONTAINS(Refused(R"({"dump_path": "/d", "rank": [true]})"), "\"rank\" holds true");
  EXPECT_CONTAINS(Refused(R"({"dump_path": "/d", "step": [-1]})"), "\"step\" holds -1");
  EXPECT_CONTAINS(Refused(R"({"dump_path": "/d", "step": [99999999999999999999]})"), "\"step\" holds");
  EXPECT_CONTAINS(Refused(R"({"dump_path": 3})"), "\"dump_path\" is 3");
  EXPECT_CONTAINS(Refused(R"({"task": "statistics"})"), "\"dump_path\" is missing");
  EXPECT_CONTAINS(Refused(R"({"dump_path": "/d\u0000x"})"), "control character");
  EXPECT_CONTAINS(Refused(R"({"dump_path": "/d", "seed": "x"})"), "\"seed\"");
  EXPECT_CONTAINS(Refused(R"({"dump_path": "/d", "is_deterministic": 1})"), "\"is_deterministic\" is 1");
  EXPECT_CONTAINS(Refused(R"({"dump_path": "/d", "enable_dataloader": "no"})"), "\"enable_dataloader\"");
  EXPECT_CONTAINS(Refused(R"({"dump_path": "/d", "precision": "medium"})"), "\"low\" or \"high\"");
  EXPECT_CONTAINS(Refused(R"({"dump_path": "/d", "statistics": []})"), "\"statistics\" is a list");
  EXPECT_CONTAINS(Refused(R"({"dump_path": "/d", "statistics": {"list": "relu"}})"), "\"statistics.list\" is \"relu\"");
  EXPECT_CONTAINS(Refused(R"({"dump_path": "/d", "statistics": {"list": [1]}})"), "\"statistics.list\" holds 1");
  EXPECT_CONTAINS(Refused(R"({"dump_path": "/d", "statistics": {"summary_mode": "md6"}})"),
                  "\"statistics\" or \"md5\"");
  EXPECT_CONTAINS(Refused(R"({"task": "tensor", "dump_path": "/d", "tensor": {"file_format": "pt"}})"),
                  "\"npy\" or \"bin\"");
  EXPECT_CONTAINS(Refused(R"({"task": "overflow_check", "dump_path": "/d", "overflow_check": {"overflow_nums": 0}})"),
                  "is 0");
  EXPECT_CONTAINS(Refused(R"({"task": "overflow_check", "dump_path": "/d", "overflow_check": {"overflow_nums": -2}})"),
                  "-2");
}

TEST_F(DumpSettingsTest, DataModeIsTheIntersectionOfTwoAxes) {
  const auto mode = [&](const char* words) {
    const DataMode m =
        Loaded(std::string(R"({"dump_path": "/d", "statistics": {"data_mode": )") + words + "}}").data_mode;
    return std::string(m.forward ? "f" : "") + (m.backward ? "b" : "") + (m.input ? "i" : "") + (m.output ? "o" : "");
  };
  EXPECT_EQ(mode(R"(["all"])"), "fbio");
  EXPECT_EQ(mode(R"([])"), "fbio");
  EXPECT_EQ(mode(R"(["forward", "input"])"), "fi");
  EXPECT_EQ(mode(R"(["backward"])"), "bio");
  EXPECT_EQ(mode(R"(["input"])"), "fbi");
  EXPECT_EQ(mode(R"(["forward", "backward", "output"])"), "fbo");
  for (const char* words :
       {R"(["all", "input"])", R"(["forwards"])", R"("all")", R"(["input","input","input","input","input"])"}) {
    EXPECT_CONTAINS(Refused(std::string(R"({"dump_path": "/d", "statistics": {"data_mode": )") + words + "}}"),
                    "data_mode");
  }
}

TEST_F(DumpSettingsTest, ScopeFollowsTheLevel) {
  const auto file = [](const char* level, const char* scope) {
    return std::string(R"({"dump_path": "/d", "level": ")") + level + R"(", "statistics": {"scope": )" + scope + "}}";
  };
  EXPECT_EQ(Loaded(file("L1", R"(["Tensor.add.0.forward"])")).scope,
            Names({"Tensor.add.0.forward", "Tensor.add.0.forward"}));
  EXPECT_EQ(Loaded(file("L1", R"(["Torch.linalg.norm.0.forward", "Tensor.add.1.backward"])")).scope.size(), 2U);
  EXPECT_EQ(Loaded(file("L0", R"(["Module.0.Linear.forward.0", "Cell.b.Net.backward.11"])")).scope.size(), 2U);
  EXPECT_EQ(Loaded(file("mix", R"(["Module.0.Linear.forward.0", "Tensor.add.1.backward"])")).scope.size(), 2U);
  for (const auto& [level, scope] : std::vector<std::pair<const char*, const char*>>{
           {"L1", R"(["Tensor.add"])"},
           {"L1", R"(["Tensor.add.forward.0"])"},
           {"L1", R"(["Module.0.Linear.forward.0"])"},
           {"L0", R"(["Tensor.add.0.forward"])"},
           {"mix", R"(["Tensor.add.0.forward", "relu"])"},
           {"L1", R"(["Tensor.add.0.forward", "Tensor.add.1.forward", "Tensor.add.2.forward"])"},
           {"L1", R"("Tensor.add.0.forward")"}}) {
    EXPECT_CONTAINS(Refused(file(level, scope)), "\"statistics.scope\"");
  }
  const DumpSettings custom = Loaded(file("L1", R"(["MyOps.add.0.forward"])"));
  ASSERT_EQ(custom.warnings.size(), 1U);
  EXPECT_CONTAINS(custom.warnings[0], "not a known group");
  EXPECT_EQ(custom.scope.size(), 2U);
  EXPECT_TRUE(Loaded(R"({"dump_path": "/d", "statistics": {"scope": ["Mint.add.0.forward"]}})", Framework::kMindSpore)
                  .warnings.empty());
}

TEST_F(DumpSettingsTest, UnknownKeysAreOneWarningWithTheNearestName) {
  const DumpSettings settings = Loaded(R"({"dump_path": "/d", "levels": "L0", "zzz": 1,
      "statistics": {"sumary_mode": "md5"}, "tensor": {"file_formt": "npy"}})");
  ASSERT_EQ(settings.warnings.size(), 1U);
  const std::string& warning = settings.warnings[0];
  EXPECT_CONTAINS(warning, "\"levels\" (did you mean \"level\"?)");
  EXPECT_CONTAINS(warning, "\"zzz\",");
  EXPECT_CONTAINS(warning, "\"statistics.sumary_mode\" (did you mean \"summary_mode\"?)");
  EXPECT_CONTAINS(warning, "\"tensor.file_formt\"");
  EXPECT_EQ(settings.level, Level::kL1);
}

TEST_F(DumpSettingsTest, RefusesWhatItCannotDoInOneLine) {
  for (const char* task : {"free_benchmark", "grad_probe", "nan_check", "exception_dump"}) {
    EXPECT_CONTAINS(Refused(std::string(R"({"dump_path": "/d", "task": ")") + task + "\"}"), "is not supported");
  }
  EXPECT_CONTAINS(Refused(R"({"dump_path": "/d", "task": "run_ut"})"), "msprobe -f pytorch run_ut");
  EXPECT_CONTAINS(Refused(R"({"dump_path": "/d", "enable_dataloader": true})"), "start(), stop() and step()");
  EXPECT_CONTAINS(Refused(R"({"dump_path": "/d", "dump_enable": false})"), "\"dump_enable\" is false");
  EXPECT_CONTAINS(Refused(R"({"task": "tensor", "dump_path": "/d", "tensor": {"online_run_ut": true}})"), "online");
  EXPECT_CONTAINS(Refused(R"({"dump_path": "/d", "statistics": {"summary_mode": "xor"}})"), "not supported");
  EXPECT_CONTAINS(Refused(R"({"dump_path": "/d", "statistics": {"summary_mode": ["max"]}})"), "not supported");
}

TEST_F(DumpSettingsTest, IgnoresWhatIsHarmlessWithOneWarningEach) {
  const DumpSettings settings = Loaded(R"({"dump_path": "/d", "seed": 7, "is_deterministic": true, "async_dump": true,
      "acl_config": "x.json", "risk_level": "CORE", "custom_op_namespaces": ["a"], "precision": "high",
      "enable_dataloader": false, "statistics": {"list": ["a"], "slice": []}})");
  EXPECT_EQ(settings.warnings.size(), 5U);
  EXPECT_EQ(settings.custom_op_namespaces, std::vector<std::string>{"a"});
  EXPECT_EQ(Loaded(R"({"dump_path": "/d"})").custom_op_namespaces, std::vector<std::string>{"_C_ascend"});
  EXPECT_EQ(settings.risk_level, RiskLevel::kAll);
  EXPECT_EQ(settings.seed, 7);
  EXPECT_EQ(settings.is_deterministic, true);
  const DumpSettings binary = Loaded(R"({"task": "tensor", "dump_path": "/d", "tensor": {"file_format": "bin"}})");
  EXPECT_EQ(binary.warnings.size(), 1U);
  EXPECT_EQ(Loaded(R"({"task": "tensor", "dump_path": "/d", "tensor": {"file_format": "bin"}})", Framework::kMindSpore)
                .file_format,
            "bin");
}

TEST_F(DumpSettingsTest, LevelsAndTasksThatDoNotGoTogether) {
  const auto file = [](const char* task, const char* level, const char* section = "{}") {
    return std::string(R"({"dump_path": "/d", "task": ")") + task + R"(", "level": ")" + level + "\", \"" + task +
           "\": " + section + "}";
  };
  for (const char* level : {"L0", "L1", "mix"}) {
    EXPECT_EQ(Loaded(file("overflow_check", level)).task, Task::kOverflowCheck);
  }
  EXPECT_CONTAINS(Refused(file("overflow_check", "L2")), "task \"overflow_check\" has no level \"L2\"");
  EXPECT_CONTAINS(Refused(file("overflow_check", "debug")), "\"L0\", \"L1\" or \"mix\"");
  EXPECT_EQ(Loaded(file("overflow_check", "L2"), Framework::kMindSpore).level, Level::kL2);
  EXPECT_CONTAINS(Refused(file("overflow_check", "mix"), Framework::kMindSpore), "\"L0\", \"L1\" or \"L2\"");
  EXPECT_CONTAINS(Refused(file("statistics", "L2")), "level \"L2\" of PyTorch has task \"tensor\" only");
  EXPECT_CONTAINS(Refused(file("tensor", "L2")), "exactly one API name in \"list\"");
  EXPECT_CONTAINS(Refused(file("tensor", "L2", R"({"list": ["a"], "scope": ["Tensor.add.0.forward"]})")),
                  "there are 2");
  EXPECT_EQ(Loaded(file("tensor", "L2", R"({"scope": ["Tensor.add.0.forward"]})")).level, Level::kL2);
  EXPECT_EQ(Loaded(file("tensor", "L2", R"({"list": ["Tensor.add.0.forward"]})")).level, Level::kL2);
  EXPECT_EQ(Loaded(file("tensor", "L2", R"({"list": ["=Tensor.add.0.backward"]})")).kernel_name,
            "Tensor.add.0.backward");
  EXPECT_CONTAINS(Refused(file("tensor", "L2", R"({"list": ["add"]})")), "full name of one API call");
  EXPECT_EQ(Loaded(file("tensor", "L2"), Framework::kMindSpore).level, Level::kL2);
  EXPECT_EQ(Loaded(file("statistics", "debug")).level, Level::kDebug);
  for (const char* level : {"L1", "L2", "debug"}) {
    const DumpSettings structure = Loaded(file("structure", level, R"({"list": ["a"]})"));
    EXPECT_EQ(structure.level_name, "mix");
    EXPECT_EQ(structure.list, Names({"a"}));
    ASSERT_EQ(structure.warnings.size(), 1U);
  }
  EXPECT_TRUE(Loaded(file("structure", "L0")).warnings.empty());
}

TEST_F(DumpSettingsTest, OverflowCheckHasItsKeysAndTheFilters) {
  const char* file = R"({"dump_path": "/d", "task": "overflow_check",
      "overflow_check": {"overflow_nums": 3, "list": ["a"], "scope": ["Tensor.add.0.forward"], "data_mode": ["output"]}})";
  const DumpSettings settings = Loaded(file);
  EXPECT_EQ(settings.overflow_nums, 3);
  EXPECT_EQ(settings.list, Names({"a"}));
  EXPECT_EQ(settings.scope.size(), 2U);
  EXPECT_FALSE(settings.data_mode.input);
  EXPECT_TRUE(Loaded(file, Framework::kMindSpore).data_mode.input) << "always everything there";
  EXPECT_EQ(
      Loaded(R"({"dump_path": "/d", "task": "overflow_check", "overflow_check": {"overflow_nums": -1}})").overflow_nums,
      -1);
  EXPECT_EQ(Loaded(R"({"dump_path": "/d", "task": "overflow_check"})").overflow_nums, 1);
}

TEST_F(DumpSettingsTest, AsyncDumpNeedsAListAndNoChecksums) {
  EXPECT_CONTAINS(Refused(R"({"dump_path": "/d", "async_dump": true, "task": "tensor"})"),
                  "\"tensor.list\" is empty; \"async_dump\"");
  EXPECT_TRUE(Load(R"({"dump_path": "/d", "async_dump": true, "task": "tensor", "level": "debug"})").ok());
  EXPECT_TRUE(Load(R"({"dump_path": "/d", "async_dump": true, "task": "tensor", "tensor": {"list": ["a"]}})").ok());
  EXPECT_CONTAINS(Refused(R"({"dump_path": "/d", "async_dump": true, "statistics": {"summary_mode": "md5"}})"),
                  "\"statistics.summary_mode\" is \"md5\"");
}

TEST_F(DumpSettingsTest, TensorListBelongsToStatistics) {
  EXPECT_EQ(Loaded(R"({"dump_path": "/d", "statistics": {"tensor_list": ["a"]}})").tensor_list, Names({"a"}));
  const DumpSettings debug = Loaded(R"({"dump_path": "/d", "level": "debug", "statistics": {"tensor_list": ["a"]}})");
  EXPECT_TRUE(debug.tensor_list.empty());
  ASSERT_EQ(debug.warnings.size(), 1U);
  EXPECT_CONTAINS(debug.warnings[0], "\"statistics.tensor_list\" is ignored at level \"debug\"");
  EXPECT_CONTAINS(Refused(R"({"dump_path": "/d", "statistics": {"tensor_list": "a"}})"), "\"statistics.tensor_list\"");
}

TEST_F(DumpSettingsTest, RiskLevelYieldsToListAndScope) {
  EXPECT_EQ(Loaded(R"({"dump_path": "/d"})").risk_level, RiskLevel::kAll);
  EXPECT_EQ(Loaded(R"({"dump_path": "/d", "risk_level": "CORE"})").risk_level, RiskLevel::kCore);
  const DumpSettings listed = Loaded(R"({"dump_path": "/d", "risk_level": "FOCUS", "statistics": {"list": ["a"]}})");
  EXPECT_EQ(listed.risk_level, RiskLevel::kAll);
  ASSERT_EQ(listed.warnings.size(), 1U);
  EXPECT_CONTAINS(listed.warnings[0], "\"risk_level\" has no effect where \"list\" or \"scope\"");
  EXPECT_CONTAINS(Refused(R"({"dump_path": "/d", "risk_level": "HIGH"})"), "\"CORE\", \"FOCUS\" or \"ALL\"");
}

TEST_F(DumpSettingsTest, OverlaysOfTheSupportList) {
  const std::string overlay = folder_.Write("mine.yaml", "torch: [my_api]\n");
  EXPECT_EQ(Loaded(R"({"dump_path": "/d", "support_list": ")" + overlay + "\"}").support_lists, Names({overlay}));
  EXPECT_EQ(Loaded(R"({"dump_path": "/d", "support_list": [")" + overlay + "\"]}").support_lists, Names({overlay}));
  EXPECT_TRUE(Loaded(R"({"dump_path": "/d", "support_list": ""})").support_lists.empty());
  EXPECT_CONTAINS(Refused(R"({"dump_path": "/d", "support_list": 3})"), "\"support_list\" is 3; it must be the path");
  EXPECT_CONTAINS(Refused(R"({"dump_path": "/d", "support_list": "/no/such.yaml"})"), "/no/such.yaml does not exist");
  folder_.Write("mine.yaml", "torsh: [my_api]\n");
  EXPECT_CONTAINS(Refused(R"({"dump_path": "/d", "support_list": ")" + overlay + "\"}"), "did you mean \"torch\"?");
}

TEST_F(DumpSettingsTest, TheFileOfTheReferenceToolIsAccepted) {
  const DumpSettings settings =
      Loaded(R"({"task": "statistics", "dump_path": "./dump_path", "rank": [], "step": [], "level": "L1",
    "seed": 1234, "is_deterministic": false, "enable_dataloader": false, "acl_config": "",
    "tensor": {"scope": [], "list": [], "data_mode": ["all"], "backward_input": [], "file_format": "npy"},
    "statistics": {"scope": [], "list": [], "data_mode": ["all"], "summary_mode": "statistics"},
    "overflow_check": {"overflow_nums": 1, "check_mode": "all"},
    "run_ut": {"white_list": [], "black_list": [], "error_data_path": "./"},
    "grad_probe": {"grad_level": "L1", "param_list": [], "bounds": [-1, 0, 1]},
    "free_benchmark": {"scope": [], "list": [], "fuzz_device": "npu", "pert_mode": "improve_precision",
      "handler_type": "check", "fuzz_level": "L1", "fuzz_stage": "forward", "if_preheat": false, "preheat_step": 15,
      "max_sample": 20}})");
  ASSERT_EQ(settings.warnings.size(), 1U);
  EXPECT_CONTAINS(settings.warnings[0], "\"seed\" is ignored");
}

TEST_F(DumpSettingsTest, ManyOverlappingRangesCostLittle) {
  std::string json = R"({"dump_path": "/d", "step": [)";
  for (int i = 0; i < 100000; ++i) json += "\"0-1000000\",";
  const DumpSettings settings = Loaded(json + "0]}");
  EXPECT_EQ(settings.steps.size(), 1000001U);
}

TEST_F(DumpSettingsTest, TheFileMustBeAJsonFile) {
  request_.config_path = folder_.path() + "/absent.json";
  EXPECT_CONTAINS(LoadDumpSettings(request_, Framework::kPyTorch).error().message, "does not exist");
  request_.config_path = folder_.Write("config.txt", "{}");
  EXPECT_CONTAINS(LoadDumpSettings(request_, Framework::kPyTorch).error().message, ".json");
  request_.config_path = folder_.path();
  EXPECT_CONTAINS(LoadDumpSettings(request_, Framework::kPyTorch).error().message, "not a regular file");
}

}  // namespace
}  // namespace msprobe
