// Compares real details files of the reference tool with themselves and holds the outcome against the reference's own.
// The files lie outside the repository: MSPROBE_PEER_DIR, else ../shared/peer beside it; without them the test is
// skipped.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/csv.h"
#include "base/temporary_folder.h"
#include "base/text.h"
#include "compare/columns.h"
#include "compare/compare.h"

namespace msprobe {
namespace {

using Row = std::vector<std::string>;

std::filesystem::path PeerFolder() {
  const char* variable = std::getenv("MSPROBE_PEER_DIR");
  if (variable != nullptr && *variable != '\0') return std::filesystem::path(variable) / "pytorch";
  return std::filesystem::path(MSPROBE_TEST_CASES).parent_path().parent_path().parent_path() / "shared/peer/pytorch";
}

std::filesystem::path FindFile(const std::filesystem::path& folder, const std::string& prefix) {
  if (!std::filesystem::is_directory(folder)) return {};
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().filename().string().starts_with(prefix)) return entry.path();
  }
  return {};
}

std::vector<Row> ReadRows(const std::filesystem::path& path) {
  std::vector<Row> rows;
  const Status status = ReadCsv(path.string(), [&](std::size_t, Row&& cells) {
    rows.push_back(std::move(cells));
    return true;
  });
  EXPECT_TRUE(status.ok()) << path;
  return rows;
}

std::string Cell(const Row& row, DetailsColumn column) { return row.at(static_cast<std::size_t>(column)); }

// Where our verdict may differ from that of 1.0.4: precision_standards.md (ii) 1 (ULP limits of float32) and
// decisions 39.
bool IsExplained(const Row& theirs, const Row& ours) {
  const std::string algorithm = Cell(theirs, DetailsColumn::kAlgorithm);
  const std::string verdict = Cell(ours, DetailsColumn::kVerdict);
  if (Cell(theirs, DetailsColumn::kVerdict) != "error") return false;
  const bool softened =
      verdict == "warning" && Cell(ours, DetailsColumn::kMessage).find("softened") != std::string::npos;
  if (algorithm == "ULP误差比对法") return verdict == "pass" || softened;
  return algorithm == "绝对阈值法" && softened;
}

class Interoperability : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::is_directory(PeerFolder())) GTEST_SKIP() << "no files of the reference tool";
  }
};

TEST_F(Interoperability, EveryDetailsFileComparedWithItselfHasNoError) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(PeerFolder() / "run_ut")) {
    const std::filesystem::path input = FindFile(entry.path(), "accuracy_checking_details_");
    if (input.empty()) continue;
    ++files;
    SCOPED_TRACE(input.string());
    TemporaryFolder folder;
    CompareOptions options;
    options.npu_csv = options.gpu_csv = input.string();
    options.output_dir = folder.path();
    const Result<CompareSummary> summary = CompareFiles(options);
    ASSERT_TRUE(summary.ok()) << summary.error().message;
    EXPECT_EQ(summary->error, 0U);
    EXPECT_GT(summary->pass, 0U);
    const std::vector<Row> details = ReadRows(summary->details_path);
    for (std::size_t i = 1; i < details.size(); ++i) {
      // Decision 5 of precision_metrics.md 8 is the only way to a warning.
      if (Cell(details[i], DetailsColumn::kVerdict) != "warning") continue;
      EXPECT_NE(Cell(details[i], DetailsColumn::kMessage).find("softened"), std::string::npos) << details[i][0];
    }
  }
  EXPECT_GT(files, 20U);
}

TEST_F(Interoperability, RowsAgreeWithTheReferenceButForWhatIsDecided) {
  std::size_t compared_files = 0;
  std::size_t explained = 0;
  for (const auto& entry : std::filesystem::directory_iterator(PeerFolder() / "api_precision_compare")) {
    const std::string name = entry.path().filename().string();
    SCOPED_TRACE(name);
    const std::filesystem::path input = FindFile(PeerFolder() / "run_ut" / name, "accuracy_checking_details_");
    const std::filesystem::path their_details = FindFile(entry.path(), "api_precision_compare_details_");
    if (input.empty() || their_details.empty()) continue;
    ++compared_files;
    TemporaryFolder folder;
    CompareOptions options;
    options.npu_csv = options.gpu_csv = input.string();
    options.output_dir = folder.path();
    const Result<CompareSummary> summary = CompareFiles(options);
    ASSERT_TRUE(summary.ok()) << summary.error().message;
    const std::vector<Row> theirs = ReadRows(their_details);
    const std::vector<Row> ours = ReadRows(summary->details_path);
    ASSERT_EQ(ours.size(), theirs.size());
    EXPECT_EQ(ours[0], theirs[0]);
    // The newer tool's ratios have another floor, so only its verdicts are compared.
    const bool same_numbers = name.find("1.0.4") != std::string::npos;
    for (std::size_t i = 1; i < ours.size(); ++i) {
      ASSERT_EQ(ours[i][0], theirs[i][0]);
      EXPECT_EQ(Cell(ours[i], DetailsColumn::kAlgorithm), Cell(theirs[i], DetailsColumn::kAlgorithm)) << ours[i][0];
      if (Cell(ours[i], DetailsColumn::kVerdict) != Cell(theirs[i], DetailsColumn::kVerdict)) {
        EXPECT_TRUE(IsExplained(theirs[i], ours[i])) << Join(theirs[i], ",") << "\n" << Join(ours[i], ",");
        ++explained;
        continue;
      }
      if (same_numbers) {
        EXPECT_EQ(ours[i], theirs[i]);
      }
    }
    const std::vector<Row> their_result = ReadRows(FindFile(entry.path(), "api_precision_compare_result_"));
    const std::vector<Row> our_result = ReadRows(summary->result_path);
    ASSERT_EQ(our_result.size(), their_result.size());
    for (std::size_t i = 0; i < our_result.size(); ++i) {
      EXPECT_EQ(our_result[i][0], their_result[i][0]);
      for (const std::size_t direction : {1U, 2U}) {
        if (their_result[i][direction] != "error") {
          EXPECT_EQ(our_result[i][direction], their_result[i][direction]);
        }
      }
    }
  }
  EXPECT_GT(compared_files, 10U);
  EXPECT_GT(explained, 100U);
}

}  // namespace
}  // namespace msprobe
