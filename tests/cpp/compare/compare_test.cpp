#include "compare/compare.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "base/csv.h"
#include "base/files.h"
#include "base/temporary_folder.h"
#include "compare/columns.h"
#include "compare/output_pair.h"

namespace msprobe {
namespace {

using Row = std::vector<std::string>;
using Rows = std::vector<Row>;

#define EXPECT_CONTAINS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

const std::string kSamples = MSPROBE_TEST_CASES "/../data/csv";

Rows ReadRows(const std::string& path) {
  Rows rows;
  const Status status = ReadCsv(path, [&](std::size_t, Row&& cells) {
    rows.push_back(std::move(cells));
    return true;
  });
  EXPECT_TRUE(status.ok());
  return rows;
}

const Row& Headings() {
  static const Row headings = [] {
    Row all = {"API Name", "Bench Dtype", "DEVICE Dtype", "Shape"};
    all.insert(all.end(), kMetricHeadings.begin(), kMetricHeadings.end());
    all.insert(all.end(), {"Status", "Message"});
    return all;
  }();
  return headings;
}

// A row of the benchmark rule with every metric at `value`.
Row BenchmarkRow(const std::string& name, const std::string& value, const std::string& dtype = "torch.float32") {
  Row row(Headings().size(), " ");
  row[0] = name;
  row[2] = dtype;
  for (std::size_t i = 4; i < 9; ++i) row[i] = value;
  row[Headings().size() - 2] = "pass";
  return row;
}

std::string ToCsv(const Rows& rows) {
  std::string text(kByteOrderMark);
  AppendCsvRow(text, Headings());
  for (const Row& row : rows) AppendCsvRow(text, row);
  return text;
}

class CompareTest : public ::testing::Test {
 protected:
  CompareTest() {
    options_.output_dir = folder_.path() + "/out";
    options_.time_stamp = "20250102030405";
  }

  void Write(const Rows& npu, const Rows& gpu) {
    options_.npu_csv = folder_.Write("npu.csv", ToCsv(npu));
    options_.gpu_csv = folder_.Write("gpu.csv", ToCsv(gpu));
  }

  CompareSummary Compare() {
    Result<CompareSummary> summary = CompareFiles(options_);
    EXPECT_TRUE(summary.ok()) << (summary.ok() ? "" : summary.error().message);
    if (!summary.ok()) return {};
    result_ = ReadRows(summary->result_path);
    details_ = ReadRows(summary->details_path);
    return std::move(*summary);
  }

  std::string Refused() {
    const Result<CompareSummary> summary = CompareFiles(options_);
    EXPECT_FALSE(summary.ok());
    return summary.ok() ? "" : summary.error().message;
  }

  TemporaryFolder folder_;
  CompareOptions options_;
  Rows result_;
  Rows details_;
};

TEST_F(CompareTest, SampleFilesGiveTheExpectedBytes) {
  options_.npu_csv = kSamples + "/npu_details.csv";
  options_.gpu_csv = kSamples + "/gpu_details.csv";
  const CompareSummary summary = Compare();
  EXPECT_EQ(BaseName(summary.result_path), "api_precision_compare_result_20250102030405.csv");
  EXPECT_EQ(BaseName(summary.details_path), "api_precision_compare_details_20250102030405.csv");
  EXPECT_EQ(TemporaryFolder::Read(summary.result_path), TemporaryFolder::Read(kSamples + "/expected_result.csv"));
  EXPECT_EQ(TemporaryFolder::Read(summary.details_path), TemporaryFolder::Read(kSamples + "/expected_details.csv"));
  EXPECT_EQ(summary.pass, 2U);
  EXPECT_EQ(summary.warning, 2U);
  EXPECT_EQ(summary.error, 4U);
  EXPECT_EQ(summary.skip, 3U);
  ASSERT_EQ(summary.errors.size(), 4U);
  EXPECT_EQ(summary.errors[0].name, "Functional.conv2d.0");
  EXPECT_CONTAINS(summary.errors[0].reason, "双千指标 is 0.91");
  EXPECT_EQ(summary.errors[3].name, "Torch.cumsum.0");
  EXPECT_CONTAINS(summary.errors[3].reason, "the shapes differ: (5,) and (6,)");
  EXPECT_EQ(summary.warnings.size(), 2U);
}

TEST_F(CompareTest, HeadingsAndBlankCells) {
  Write({BenchmarkRow("Torch.exp.0.forward.output.0", "0.5")}, {BenchmarkRow("Torch.exp.0.forward.output.0", "0.5")});
  const CompareSummary summary = Compare();
  EXPECT_EQ(details_.at(0), Row(kDetailsHeadings.begin(), kDetailsHeadings.end()));
  EXPECT_EQ(result_, Rows({{"API Name", "Forward Test Success", "Backward Test Success", "Message"},
                           {"Torch.exp.0", "pass", " ", ""}}));
  ASSERT_EQ(details_.at(1).size(), kDetailsColumnCount);
  EXPECT_EQ(details_[1][1], "1.00000000000000");
  EXPECT_EQ(details_[1][11], " ");
  EXPECT_TRUE(TemporaryFolder::Read(summary.result_path).starts_with(kByteOrderMark));
  EXPECT_TRUE(TemporaryFolder::Read(summary.result_path).ends_with("\r\n"));
}

TEST_F(CompareTest, OneResultRowForEachApiWhereverItsRowsStand) {
  const Rows rows = {
      BenchmarkRow("Torch.exp.0.forward.output.0", "1"), BenchmarkRow("Torch.sin.0.forward.output.0", "1"),
      BenchmarkRow("Torch.exp.0.backward.output.0", "1"), BenchmarkRow("Torch.exp.1.forward.output.0", "1")};
  Rows worse = rows;
  worse[2] = BenchmarkRow("Torch.exp.0.backward.output.0", "1.5");
  Write(worse, rows);
  Compare();
  EXPECT_EQ(details_.size(), 5U);
  EXPECT_EQ(result_, Rows({{"API Name", "Forward Test Success", "Backward Test Success", "Message"},
                           {"Torch.exp.0", "pass", "warning", ""},
                           {"Torch.sin.0", "pass", " ", ""},
                           {"Torch.exp.1", "pass", " ", ""}}));
}

TEST_F(CompareTest, TheWorstRowOfADirectionDecides) {
  const auto rows = [](const char* first, const char* second) {
    return Rows(
        {BenchmarkRow("Torch.exp.0.forward.output.0", first), BenchmarkRow("Torch.exp.0.forward.output.1", second)});
  };
  for (const auto& [first, second] : {std::pair("9", "1.5"), std::pair("1.5", "9")}) {
    Write(rows(first, second), rows("1", "1"));
    Compare();
    EXPECT_EQ(result_.at(1), Row({"Torch.exp.0", "error", " ", ""}));
    std::filesystem::remove_all(options_.output_dir);
  }
}

TEST_F(CompareTest, UnsupportedDtypesDecideNothingUnlessTheyAreAll) {
  // Both orders (B119): a float64 output beside a float32 one.
  Rows rows = {BenchmarkRow("Torch.exp.0.forward.output.0", "1"),
               BenchmarkRow("Torch.exp.0.forward.output.1", "1", "torch.float64"),
               BenchmarkRow("Torch.sin.0.forward.output.0", "1", "torch.float64"),
               BenchmarkRow("Torch.sin.0.forward.output.1", "1"),
               BenchmarkRow("Torch.cos.0.forward.output.0", "1", "torch.complex64")};
  Write(rows, rows);
  Compare();
  EXPECT_EQ(result_.at(1), Row({"Torch.exp.0", "pass", " ", ""}));
  EXPECT_EQ(result_.at(2), Row({"Torch.sin.0", "pass", " ", ""}));
  EXPECT_EQ(result_.at(3)[1], "SKIP");
  EXPECT_EQ(result_.at(3)[2], "SKIP");
  EXPECT_CONTAINS(result_.at(3)[3], "torch.complex64");
}

TEST_F(CompareTest, RowsMissingOnOneSideAreSkippedWithAReason) {
  Write({BenchmarkRow("Torch.exp.0.forward.output.0", "1"), BenchmarkRow("Torch.cos.0.forward.output.0", "1"),
         BenchmarkRow("Torch.exp.0.backward.output.0", "1")},
        {BenchmarkRow("Torch.exp.0.forward.output.0", "1"), BenchmarkRow("Torch.sin.0.backward.output.0", "1")});
  const CompareSummary summary = Compare();
  EXPECT_EQ(details_.size(), 5U);
  EXPECT_EQ(result_.at(1), Row({"Torch.exp.0", "pass", "SKIP", "this row is missing in the GPU's file"}));
  EXPECT_EQ(result_.at(2), Row({"Torch.cos.0", "SKIP", " ", "this row is missing in the GPU's file"}));
  EXPECT_EQ(result_.at(3), Row({"Torch.sin.0", " ", "SKIP", "this row is missing in the NPU's file"}));
  ASSERT_EQ(summary.warnings.size(), 2U);
  EXPECT_CONTAINS(summary.warnings[0],
                  "npu.csv: 2 rows are missing in the GPU's file and are SKIP (the first: Torch.cos");
  EXPECT_CONTAINS(summary.warnings[1], "gpu.csv: 1 rows");
  EXPECT_EQ(summary.pass, 1U);
  EXPECT_EQ(summary.skip, 2U);
}

TEST_F(CompareTest, OfRepeatedRowsTheFirstCounts) {
  Write({BenchmarkRow("Torch.exp.0.forward.output.0", "1"), BenchmarkRow("Torch.exp.0.forward.output.0", "9"),
         BenchmarkRow("Torch.cos.0.forward.output.0", "1"), BenchmarkRow("Torch.cos.0.forward.output.0", "1")},
        {BenchmarkRow("Torch.exp.0.forward.output.0", "1"), BenchmarkRow("Torch.exp.0.forward.output.0", "0.1")});
  const CompareSummary summary = Compare();
  EXPECT_EQ(details_.size(), 3U);
  EXPECT_EQ(result_.at(1)[1], "pass");
  ASSERT_EQ(summary.warnings.size(), 3U);
  EXPECT_CONTAINS(summary.warnings[0], "npu.csv: 2 repeated rows");
  EXPECT_CONTAINS(summary.warnings[1], "gpu.csv: 1 repeated rows");
}

TEST_F(CompareTest, ARowThatCannotBeJudgedIsSkipForItselfAlone) {
  Rows rows = {BenchmarkRow("Torch.exp.0.forward.output.0", "1"), BenchmarkRow("Torch.exp.0.forward.output.1", "abc"),
               BenchmarkRow("not a name", "1"), BenchmarkRow("Torch.sin.0.forward.output.0", "1")};
  Write(rows, rows);
  const CompareSummary summary = Compare();
  EXPECT_EQ(details_.size(), 5U);
  EXPECT_EQ(result_.size(), 4U);
  EXPECT_EQ(result_.at(1), Row({"Torch.exp.0", "pass", " ", ""}));
  EXPECT_EQ(result_.at(2)[0], "not a name");
  EXPECT_EQ(result_.at(2)[1] + result_.at(2)[2], "SKIPSKIP");
  ASSERT_EQ(summary.warnings.size(), 1U);
  EXPECT_CONTAINS(summary.warnings[0], "no output of an API");
}

TEST_F(CompareTest, NamesWithDots) {
  const Rows rows = {BenchmarkRow("Torch.linalg.inv.0.forward.output.0", "1"),
                     BenchmarkRow("Functional.multi_head_attention_forward.3.backward.output.0", "1"),
                     BenchmarkRow("Functional.a.b.c.0.forward.output.0", "1")};
  Write(rows, rows);
  Compare();
  EXPECT_EQ(result_.at(1)[0], "Torch.linalg.inv.0");
  EXPECT_EQ(result_.at(2), Row({"Functional.multi_head_attention_forward.3", " ", "pass", ""}));
  EXPECT_EQ(result_.at(3)[0], "Functional.a.b.c.0");
}

TEST_F(CompareTest, OrderOfColumnsIsFreeAndOthersAreIgnored) {
  const auto shuffled = [](const std::string& value) {
    std::string text = "Extra,Message";
    for (auto heading = kMetricHeadings.rbegin(); heading != kMetricHeadings.rend(); ++heading)
      text += "," + std::string(*heading);
    text += ",DEVICE Dtype,API Name\nx,";
    for (std::size_t i = 0; i < kMetricCount; ++i) text += i >= 7 ? "," + value : ", ";
    return text + ",torch.float32,Torch.exp.0.forward.output.0\n";
  };
  options_.npu_csv = folder_.Write("npu.csv", shuffled("2"));
  options_.gpu_csv = folder_.Write("gpu.csv", shuffled("1"));
  Compare();
  EXPECT_EQ(result_.at(1)[1], "warning");
}

TEST_F(CompareTest, MissingHeadingsAreNamedAndNothingIsCreated) {
  Write({}, {});
  options_.gpu_csv = folder_.Write("gpu.csv", "API Name,DEVICE Dtype,均方根误差\n");
  const std::string message = Refused();
  EXPECT_CONTAINS(message, "gpu.csv lacks the headings \"小值域错误占比\", \"相对误差最大值\"");
  EXPECT_EQ(message.find("均方根误差"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(options_.output_dir));
  options_.gpu_csv = folder_.Write("gpu.csv", "");
  EXPECT_CONTAINS(Refused(), "gpu.csv is empty");
  options_.gpu_csv = folder_.Write("gpu.txt", "");
  EXPECT_CONTAINS(Refused(), ".csv");
  options_.gpu_csv = folder_.path() + "/absent.csv";
  EXPECT_CONTAINS(Refused(), "does not exist");
  options_.gpu_csv = "";
  Refused();
  EXPECT_FALSE(std::filesystem::exists(options_.output_dir));
}

TEST_F(CompareTest, HeaderOnlyFiles) {
  Write({}, {});
  const CompareSummary summary = Compare();
  EXPECT_EQ(details_.size(), 1U);
  EXPECT_EQ(result_.size(), 1U);
  ASSERT_EQ(summary.warnings.size(), 1U);
  EXPECT_CONTAINS(summary.warnings[0], "no row in common");
}

TEST_F(CompareTest, NeverReplacesAFile) {
  Write({}, {});
  ASSERT_TRUE(CreateDirectories(options_.output_dir).ok());
  const std::string taken = options_.output_dir + "/api_precision_compare_result_20250102030405.csv";
  ASSERT_TRUE(WriteFileAtomically(taken, "keep").ok());
  EXPECT_EQ(BaseName(Compare().result_path), "api_precision_compare_result_20250102030406.csv");
  EXPECT_EQ(BaseName(Compare().details_path), "api_precision_compare_details_20250102030407.csv");
  EXPECT_EQ(TemporaryFolder::Read(taken), "keep");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(options_.output_dir), {}), 5);
}

TEST_F(CompareTest, ALinkUnderTheNameIsNotFollowed) {
  Write({}, {});
  ASSERT_TRUE(CreateDirectories(options_.output_dir).ok());
  const std::string victim = folder_.Write("victim", "keep");
  std::filesystem::create_symlink(victim, options_.output_dir + "/api_precision_compare_details_20250102030405.csv");
  std::filesystem::create_symlink(folder_.path() + "/absent",
                                  options_.output_dir + "/api_precision_compare_result_20250102030406.csv");
  EXPECT_EQ(BaseName(Compare().result_path), "api_precision_compare_result_20250102030407.csv");
  EXPECT_EQ(TemporaryFolder::Read(victim), "keep");
  EXPECT_FALSE(std::filesystem::exists(folder_.path() + "/absent"));
}

TEST_F(CompareTest, AnInputWithoutReadableRestLeavesNothingBehind) {
  Write({BenchmarkRow("Torch.exp.0.forward.output.0", "1")}, {});
  std::ofstream(options_.npu_csv, std::ios::app | std::ios::binary) << std::string(5000, ',') << "\n";
  EXPECT_CONTAINS(Refused(), "npu.csv: row 3");
  EXPECT_TRUE(std::filesystem::is_empty(options_.output_dir));
}

TEST_F(CompareTest, ACutOffLastRowIsLeftOutWithAWarning) {
  Write({BenchmarkRow("Torch.exp.0.forward.output.0", "1")}, {BenchmarkRow("Torch.exp.0.forward.output.0", "1")});
  std::ofstream(options_.npu_csv, std::ios::app | std::ios::binary) << "Torch.sin.0.forward.output.0,torch.float64,tor";
  const CompareSummary summary = Compare();
  EXPECT_EQ(result_.size(), 2U);
  ASSERT_EQ(summary.warnings.size(), 1U);
  EXPECT_CONTAINS(summary.warnings[0], "npu.csv: the last row is cut off and was left out: Torch.sin.0");
}

TEST_F(CompareTest, ALastRowWithoutALineEndCounts) {
  const Rows rows = {BenchmarkRow("Torch.exp.0.forward.output.0", "1"),
                     BenchmarkRow("Torch.sin.0.forward.output.0", "1")};
  Write(rows, rows);
  std::filesystem::resize_file(options_.npu_csv, std::filesystem::file_size(options_.npu_csv) - 2);
  const CompareSummary summary = Compare();
  EXPECT_EQ(result_.size(), 3U);
  EXPECT_TRUE(summary.warnings.empty());
}

TEST_F(CompareTest, AShortRowInTheMiddleIsSkip) {
  Write({}, {BenchmarkRow("Torch.exp.0.forward.output.0", "1"), BenchmarkRow("Torch.sin.0.forward.output.0", "1")});
  std::ofstream(options_.npu_csv, std::ios::app | std::ios::binary)
      << "Torch.exp.0.forward.output.0,torch.float64,torch.float32\r\n,,,\r\n"
      << ToCsv({BenchmarkRow("Torch.sin.0.forward.output.0", "1")}).substr(ToCsv({}).size());
  const CompareSummary summary = Compare();
  EXPECT_EQ(result_.at(1)[1], "SKIP");
  EXPECT_CONTAINS(result_.at(1)[3], "row 2 has 3 cells where the heading has 18");
  EXPECT_EQ(result_.at(2)[1], "pass");
  ASSERT_EQ(summary.warnings.size(), 1U);
  EXPECT_CONTAINS(summary.warnings[0], "1 rows without an API name");
}

TEST_F(CompareTest, HostileCells) {
  Row row = BenchmarkRow("Torch.exp.0.forward.output.0", "1");
  row[0] = std::string("Torch.e\x01p\x7f.0.forward.output.0");
  Row huge = BenchmarkRow("Torch." + std::string(100000, 'x') + ".0.forward.output.0", "1");
  Row number = BenchmarkRow("Torch.sin.0.forward.output.0", "1e308");
  Row tiny = BenchmarkRow("Torch.sin.0.forward.output.0", "1e-308");
  Row message = BenchmarkRow("Torch.cos.0.forward.output.0", " ", " ");
  message.back() = "=cmd|' /C calc'!A0\nsecond, \"line\"";
  Write({row, huge, number, message}, {row, huge, tiny, message});
  const CompareSummary summary = Compare();
  EXPECT_EQ(details_.size(), 5U);
  EXPECT_EQ(details_.at(3)[1], "inf");
  EXPECT_EQ(result_.at(3)[1], "error");
  EXPECT_EQ(result_.at(4)[3], "'" + message.back());
  EXPECT_EQ(summary.error, 1U);
  EXPECT_LT(summary.warnings.at(0).size(), 1000U);
}

TEST_F(CompareTest, PrecisionAndDocumentedOnly) {
  Row row = BenchmarkRow("Tensor.mul.0.forward.output.0", " ");
  for (std::size_t i = 10; i < 13; ++i) row[i] = "0.25";
  Write({row}, {row});
  options_.precision = 3;
  Compare();
  EXPECT_EQ(result_.at(1)[1], "warning");
  EXPECT_EQ(details_.at(1)[11], "0.250");
  options_.documented_only = true;
  Compare();
  EXPECT_EQ(result_.at(1)[1], "error");
}

TEST_F(CompareTest, AFileComparedWithItselfSaysSo) {
  Write({BenchmarkRow("Torch.exp.0.forward.output.0", "1")}, {});
  options_.gpu_csv = options_.npu_csv;
  const CompareSummary summary = Compare();
  EXPECT_EQ(summary.pass, 1U);
  ASSERT_EQ(summary.warnings.size(), 1U);
  EXPECT_CONTAINS(summary.warnings[0], "compared with itself");
}

TEST_F(CompareTest, OnlyTheFirstErrorsAreListed) {
  Rows npu;
  Rows gpu;
  for (int i = 0; i < 25; ++i) {
    npu.push_back(BenchmarkRow("Torch.exp." + std::to_string(i) + ".forward.output.0", "9"));
    gpu.push_back(BenchmarkRow("Torch.exp." + std::to_string(i) + ".forward.output.0", "1"));
  }
  Write(npu, gpu);
  const CompareSummary summary = Compare();
  EXPECT_EQ(summary.error, 25U);
  ASSERT_EQ(summary.errors.size(), 10U);
  EXPECT_EQ(summary.errors[9].name, "Torch.exp.9");
}

TEST_F(CompareTest, WrongOptions) {
  Write({}, {});
  options_.time_stamp = "2025";
  EXPECT_CONTAINS(Refused(), "14 digits");
  options_.time_stamp = "";
  options_.output_dir = options_.npu_csv;
  EXPECT_CONTAINS(Refused(), "is a file");
}

TEST(Stamps, CarryIntoTheNextDay) {
  EXPECT_EQ(NextStamp("20241231235959"), "20250101000000");
  EXPECT_EQ(NextStamp("20240228235959"), "20240229000000");
  EXPECT_EQ(NextStamp("20250102030405"), "20250102030406");
}

}  // namespace
}  // namespace msprobe
