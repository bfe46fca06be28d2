// Runs tests/cases/compare/*.txt (see the README there).

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "base/text.h"
#include "compare/judge.h"

namespace msprobe {
namespace {

struct Case {
  std::string place;  // file and line
  std::map<std::string, std::string> keys;
  std::vector<std::string> says;

  std::string Get(const std::string& key, const std::string& otherwise = "") const {
    const auto found = keys.find(key);
    return found == keys.end() ? otherwise : found->second;
  }
};

const std::vector<std::string>& CellNames() {
  static const std::vector<std::string> names = {"small",    "rmse",     "max",       "mean",
                                                 "balance",  "binary",   "infnan",    "relative",
                                                 "absolute", "ulp_mean", "ulp_share", "thousandth"};
  return names;
}

std::string Unquote(const std::string& text) {
  const bool quoted = text.size() >= 2 && text.front() == '"' && text.back() == '"';
  return quoted ? text.substr(1, text.size() - 2) : text;
}

std::vector<Case> ReadCases() {
  std::vector<Case> cases;
  for (const auto& entry : std::filesystem::directory_iterator(MSPROBE_TEST_CASES "/compare")) {
    if (entry.path().extension() != ".txt") continue;
    std::ifstream file(entry.path());
    std::string line;
    bool open = false;
    for (int number = 1; std::getline(file, line); ++number) {
      if (line.starts_with('#')) continue;
      if (Trim(line).empty()) {
        open = false;
        continue;
      }
      if (!open) cases.emplace_back().place = entry.path().filename().string() + ":" + std::to_string(number);
      open = true;
      const std::size_t colon = line.find(':');
      const std::string key = line.substr(0, colon);
      const std::string value =
          colon == std::string::npos ? "" : std::string(Trim(std::string_view(line).substr(colon + 1)));
      if (key == "says") {
        cases.back().says.push_back(value);
      } else {
        cases.back().keys[key] = value;
      }
    }
  }
  return cases;
}

// "small=0 message="a b"" into a row.
MeasuredRow MakeRow(const Case& test, const std::string& side) {
  MeasuredRow row;
  row.name = "Torch." + test.Get("api") + ".0.forward.output.0";
  const std::string dtype = Unquote(test.Get("dtype", "torch.float32"));
  if (!IsBlankText(dtype)) row.dtype = dtype;
  row.texts.fill(" ");
  std::string_view rest = test.keys.at(side);
  while (!(rest = Trim(rest)).empty()) {
    const std::size_t equals = rest.find('=');
    const std::string name(rest.substr(0, equals));
    rest.remove_prefix(equals + 1);
    const std::size_t end = rest.starts_with('"') ? rest.find('"', 1) + 1 : std::min(rest.find(' '), rest.size());
    const std::string value = Unquote(std::string(rest.substr(0, end)));
    rest.remove_prefix(end);
    const auto cell = std::find(CellNames().begin(), CellNames().end(), name);
    if (cell != CellNames().end()) {
      row.texts[static_cast<std::size_t>(cell - CellNames().begin())] = value;
    } else if (name == "status") {
      row.measurements.status = ParseVerdict(value);
    } else if (name == "message") {
      row.message = value;
    } else {
      ADD_FAILURE() << test.place << ": unknown cell " << name;
    }
  }
  for (std::size_t i = 0; i < kMetricCount; ++i) row.measurements.cells[i] = ParseCell(row.texts[i]);
  return row;
}

struct Columns {
  std::vector<DetailsColumn> values;
  std::vector<DetailsColumn> statuses;
};

Columns ColumnsOf(Algorithm algorithm) {
  using C = DetailsColumn;
  switch (algorithm) {
    case Algorithm::kBenchmark:
      return {
          {C::kSmallValueRatio, C::kRootMeanSquareRatio, C::kMaxRelativeRatio, C::kMeanRelativeRatio, C::kBalanceRatio},
          {C::kSmallValueStatus, C::kRootMeanSquareStatus, C::kMaxRelativeStatus, C::kMeanRelativeStatus,
           C::kBalanceStatus}};
    case Algorithm::kAbsoluteThreshold:
      return {{C::kInfNanRate, C::kRelativeRate, C::kAbsoluteRate},
              {C::kInfNanStatus, C::kRelativeStatus, C::kAbsoluteStatus}};
    case Algorithm::kBinary:
      return {{C::kBinaryRate}, {C::kBinaryStatus}};
    case Algorithm::kUlp:
      return {{C::kUlpMean, C::kUlpShare, C::kUlpShareRatio}, {C::kUlpStatus}};
    case Algorithm::kThousandth:
      return {{C::kThousandth}, {C::kThousandthStatus}};
  }
  return {};
}

std::vector<std::string> Words(const std::string& text) {
  std::vector<std::string> words;
  for (const std::string_view word : Split(text, ' ')) words.emplace_back(word);
  return words;
}

void CheckNumbers(const Case& test, Judgement& judgement) {
  const Columns columns = ColumnsOf(judgement.algorithm.value());
  if (test.keys.contains("values")) {
    const std::vector<std::string> wanted = Words(test.Get("values"));
    ASSERT_EQ(wanted.size(), columns.values.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const double got = ParseDouble(judgement[columns.values[i]]).value();
      const double want = ParseDouble(wanted[i]).value();
      if (std::isnan(want) || std::isinf(want)) {
        EXPECT_EQ(judgement[columns.values[i]], wanted[i]) << i;
      } else {
        EXPECT_NEAR(got, want, 1e-9) << i;
      }
    }
  }
  if (test.keys.contains("statuses")) {
    std::vector<std::string> statuses;
    for (const DetailsColumn column : columns.statuses) statuses.push_back(judgement[column]);
    EXPECT_EQ(statuses, Words(test.Get("statuses")));
  }
  // Columns of the other algorithms hold one blank.
  for (std::size_t i = 1; i < static_cast<std::size_t>(DetailsColumn::kVerdict); ++i) {
    const auto column = static_cast<DetailsColumn>(i);
    const bool own = std::count(columns.values.begin(), columns.values.end(), column) +
                         std::count(columns.statuses.begin(), columns.statuses.end(), column) >
                     0;
    EXPECT_EQ(judgement[column] != " ", own) << kDetailsHeadings[i];
  }
}

TEST(CompareCases, AllOfThem) {
  const std::map<std::string, std::optional<Algorithm>> algorithms = {
      {"benchmark", Algorithm::kBenchmark},   {"absolute", Algorithm::kAbsoluteThreshold},
      {"binary", Algorithm::kBinary},         {"ulp", Algorithm::kUlp},
      {"thousandth", Algorithm::kThousandth}, {"none", std::nullopt}};
  const std::vector<Case> cases = ReadCases();
  ASSERT_GT(cases.size(), 60U);
  for (const Case& test : cases) {
    SCOPED_TRACE(test.place + " " + test.Get("case"));
    const MeasuredRow device = MakeRow(test, "npu");
    const MeasuredRow benchmark = MakeRow(test, "gpu");
    Judgement judgement = JudgeRow(test.Get("api"), device, benchmark.measurements, {});
    EXPECT_EQ(VerdictWord(judgement.verdict), test.Get("expect")) << judgement.message;
    EXPECT_EQ(judgement[DetailsColumn::kVerdict], test.Get("expect"));
    EXPECT_EQ(judgement[DetailsColumn::kMessage], judgement.message);
    if (test.keys.contains("algorithm")) {
      EXPECT_EQ(judgement.algorithm, algorithms.at(test.Get("algorithm")));
    }
    for (const std::string& text : test.says)
      EXPECT_NE(judgement.message.find(text), std::string::npos) << judgement.message;
    if (test.keys.contains("silent")) {
      EXPECT_EQ(judgement.message, "");
    }
    if (judgement.verdict == Verdict::kError || judgement.verdict == Verdict::kWarning) {
      EXPECT_FALSE(judgement.reason.empty());
    }
    if (judgement.algorithm) CheckNumbers(test, judgement);
    const Judgement documented =
        JudgeRow(test.Get("api"), device, benchmark.measurements, {.precision = 14, .documented_only = true});
    EXPECT_EQ(VerdictWord(documented.verdict), test.Get("documented", test.Get("expect"))) << "documented only";
  }
}

TEST(CompareCases, ARowComparedWithItselfIsNeverAnError) {
  for (const Case& test : ReadCases()) {
    SCOPED_TRACE(test.place + " " + test.Get("case"));
    const MeasuredRow device = MakeRow(test, "npu");
    EXPECT_NE(JudgeRow(test.Get("api"), device, device.measurements, {}).verdict, Verdict::kError);
  }
}

}  // namespace
}  // namespace msprobe
