#include "base/csv.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/files.h"
#include "base/temporary_folder.h"

namespace msprobe {
namespace {

using Rows = std::vector<std::vector<std::string>>;

Rows ReadAll(const std::string& path, std::string* torn = nullptr, std::vector<std::size_t>* numbers = nullptr) {
  Rows rows;
  const Status status = ReadCsv(
      path,
      [&](std::size_t number, std::vector<std::string>&& cells) {
        if (numbers != nullptr) numbers->push_back(number);
        rows.push_back(std::move(cells));
        return true;
      },
      torn);
  EXPECT_TRUE(status.ok()) << status.error().message;
  return rows;
}

TEST(CsvWriting, QuotesOnlyWhereNeeded) {
  std::string out;
  const std::vector<std::string> cells = {"plain", "(4, 4)", "say \"hi\"", "two\nlines", " ", ""};
  AppendCsvRow(out, cells);
  EXPECT_EQ(out, "plain,\"(4, 4)\",\"say \"\"hi\"\"\",\"two\nlines\", ,\r\n");
}

TEST(CsvWriting, NormalisesLineBreaksAndControlCharacters) {
  std::string out;
  const std::vector<std::string> cells = {"a\r\nb\rc", std::string("x\0y\x1b[0m", 7), "tab\there"};
  AppendCsvRow(out, cells);
  EXPECT_EQ(out, "\"a\nb\nc\",x_y_[0m,tab\there\r\n");
}

TEST(CsvWriting, DisarmsFormulasButNotNumbers) {
  std::string out;
  const std::vector<std::string> cells = {"=1+1", "-inf", "-0.5", "-x", "@cmd", "+1e-3"};
  AppendCsvRow(out, cells);
  EXPECT_EQ(out, "'=1+1,-inf,-0.5,'-x,'@cmd,+1e-3\r\n");
}

TEST(CsvWriting, OneEmptyCellIsNotAnEmptyLine) {
  std::string out;
  const std::vector<std::string> cells = {""};
  AppendCsvRow(out, cells);
  TemporaryFolder folder;
  EXPECT_EQ(ReadAll(folder.Write("one.csv", out)), Rows({{""}}));
}

TEST(CsvReading, ReadsBackWhatIsWritten) {
  const Rows rows = {{"API Name", "Message"}, {"Torch.add.0", "a \"quoted\",\nbroken line"}, {" ", ""}};
  std::string text(kByteOrderMark);
  for (const auto& row : rows) AppendCsvRow(text, row);
  TemporaryFolder folder;
  EXPECT_EQ(ReadAll(folder.Write("rows.csv", text)), rows);
}

TEST(CsvReading, AcceptsEveryLineEndAndCountsEmptyLines) {
  TemporaryFolder folder;
  std::vector<std::size_t> numbers;
  const Rows rows = ReadAll(folder.Write("ends.csv", "a,b\r\n\r\nc\nd\re,\n"), nullptr, &numbers);
  EXPECT_EQ(rows, Rows({{"a", "b"}, {"c"}, {"d"}, {"e", ""}}));
  EXPECT_EQ(numbers, std::vector<std::size_t>({1, 3, 4, 5}));
}

TEST(CsvReading, RemovesTheMarkAtTheStartOnly) {
  TemporaryFolder folder;
  const std::string mark(kByteOrderMark);
  EXPECT_EQ(ReadAll(folder.Write("mark.csv", mark + "a\n" + mark + "b\n")), Rows({{"a"}, {mark + "b"}}));
  EXPECT_EQ(ReadAll(folder.Write("tiny.csv", "x")), Rows({{"x"}}));
  EXPECT_EQ(ReadAll(folder.Write("only_mark.csv", mark)), Rows());
  EXPECT_EQ(ReadAll(folder.Write("empty.csv", "")), Rows());
}

TEST(CsvReading, QuotesInsideACellAreOrdinaryCharacters) {
  TemporaryFolder folder;
  EXPECT_EQ(ReadAll(folder.Write("inside.csv", "a\"b\"c,\"d\"e\n")), Rows({{"a\"b\"c", "de"}}));
}

TEST(CsvReading, HandsOutATornLastRow) {
  TemporaryFolder folder;
  std::string torn;
  EXPECT_EQ(ReadAll(folder.Write("torn.csv", "a,b\nc,\"d\ne"), &torn), Rows({{"a", "b"}}));
  EXPECT_EQ(torn, "c,\"d\ne");
  EXPECT_EQ(ReadAll(folder.Write("cut.csv", "a,b\r\nc,d"), &torn), Rows({{"a", "b"}}));
  EXPECT_EQ(torn, "c,d");
  EXPECT_EQ(ReadAll(folder.Write("whole.csv", "a,b\r\nc,d\r\n"), &torn), Rows({{"a", "b"}, {"c", "d"}}));
  EXPECT_EQ(torn, "");
}

TEST(CsvReading, WithoutAPlaceForATornRowAnOpenQuoteIsAnError) {
  TemporaryFolder folder;
  EXPECT_EQ(ReadAll(folder.Write("cut.csv", "a,b\r\nc,d")), Rows({{"a", "b"}, {"c", "d"}}));
  const Status status =
      ReadCsv(folder.Write("open.csv", "a\n\"b\n"), [](std::size_t, std::vector<std::string>&&) { return true; });
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("row 2"), std::string::npos) << status.error().message;
}

TEST(CsvReading, RowsAcrossBufferEdges) {
  // Rows of a length that shifts against the read buffer, so that every kind of split happens.
  std::string text(kByteOrderMark);
  Rows rows;
  for (int i = 0; i < 4000; ++i) {
    rows.push_back(
        {std::to_string(i), "\"" + std::string(static_cast<std::size_t>(i % 173), 'x') + "\"\n", "\xE5\xB0\x8F"});
    AppendCsvRow(text, rows.back());
  }
  ASSERT_GT(text.size(), 400000U);
  TemporaryFolder folder;
  std::string torn;
  EXPECT_EQ(ReadAll(folder.Write("long.csv", text), &torn), rows);
  EXPECT_EQ(torn, "");
}

TEST(CsvReading, StopsWhenAsked) {
  TemporaryFolder folder;
  int visited = 0;
  const Status status = ReadCsv(folder.Write("stop.csv", "a\nb\nc\n"),
                                [&](std::size_t, std::vector<std::string>&&) { return ++visited < 2; });
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(visited, 2);
}

TEST(CsvReading, RefusesRowsAboveTheLimits) {
  TemporaryFolder folder;
  const auto accept = [](std::size_t, std::vector<std::string>&&) { return true; };
  const Status cells =
      ReadCsv(folder.Write("cells.csv", "a\n" + std::string(kMaxCsvRowCells + 10, ',') + "\n"), accept);
  ASSERT_FALSE(cells.ok());
  EXPECT_NE(cells.error().message.find("row 2"), std::string::npos) << cells.error().message;
  EXPECT_FALSE(ReadCsv(folder.Write("bytes.csv", "\"" + std::string(kMaxCsvRowBytes + 10, 'x')), accept).ok());
}

TEST(CsvReading, RefusesWhatIsNoFile) {
  TemporaryFolder folder;
  const auto accept = [](std::size_t, std::vector<std::string>&&) { return true; };
  EXPECT_FALSE(ReadCsv(folder.path(), accept).ok());
  EXPECT_FALSE(ReadCsv(folder.path() + "/absent.csv", accept).ok());
}

TEST(CsvRowText, TellsOpenQuotes) {
  std::vector<std::string> cells;
  EXPECT_TRUE(ParseCsvRow("a,\"b,c\"", cells));
  EXPECT_EQ(cells, std::vector<std::string>({"a", "b,c"}));
  EXPECT_TRUE(ParseCsvRow("a,b\r\n", cells));
  EXPECT_EQ(cells, std::vector<std::string>({"a", "b"}));
  EXPECT_FALSE(ParseCsvRow("a,\"b", cells));
}

}  // namespace
}  // namespace msprobe
