#include "record/json_journal.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "record/temporary_folder.h"

namespace msprobe {
namespace {

constexpr char kHead[] = "{\n \"task\": \"statistics\",\n \"data\": {";
constexpr char kTail[] = "\n }\n}\n";

Result<JsonJournal> Create(const std::string& path) { return JsonJournal::Create(path, kHead, kTail, "  "); }

/// Lets files of this process grow to `bytes` only, as a full disk would.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &old_);
    old_handler_ = ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{bytes, old_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &old_);
    ::signal(SIGXFSZ, old_handler_);
  }

 private:
  rlimit old_{};
  void (*old_handler_)(int) = nullptr;
};

TEST(JsonJournalTest, IsValidJsonAfterCreationAndAfterEveryFlush) {
  const TemporaryFolder folder;
  const std::string path = folder / "dump.json";
  auto journal = Create(path);
  ASSERT_TRUE(journal.ok()) << journal.error().message;
  EXPECT_EQ(ReadText(path), std::string(kHead) + kTail);
  ASSERT_TRUE(journal->Flush().ok());
  EXPECT_EQ(ReadText(path), std::string(kHead) + kTail);

  journal->Add("a", "{\"x\": 1}");
  journal->Add("b\"", "{}");
  EXPECT_GT(journal->buffered_bytes(), 0U);
  EXPECT_EQ(ReadText(path), std::string(kHead) + kTail) << "nothing may appear before the flush";
  ASSERT_TRUE(journal->Flush().ok());
  EXPECT_EQ(journal->buffered_bytes(), 0U);
  EXPECT_EQ(ReadText(path), std::string(kHead) + "\n  \"a\": {\"x\": 1},\n  \"b\\\"\": {}" + kTail);

  journal->Add("c", "null");
  ASSERT_TRUE(journal->Flush().ok());
  EXPECT_EQ(ReadText(path), std::string(kHead) + "\n  \"a\": {\"x\": 1},\n  \"b\\\"\": {},\n  \"c\": null" + kTail);
}

TEST(JsonJournalTest, DestructionDoesNotFlush) {
  const TemporaryFolder folder;
  const std::string path = folder / "dump.json";
  {
    auto journal = Create(path);
    ASSERT_TRUE(journal.ok());
    journal->Add("a", "{}");
  }
  EXPECT_EQ(ReadText(path), std::string(kHead) + kTail);
}

TEST(JsonJournalTest, NeverReplacesAFileNorFollowsALink) {
  const TemporaryFolder folder;
  const std::string path = folder / "dump.json";
  WriteText(path, "precious");
  EXPECT_FALSE(Create(path).ok());
  EXPECT_EQ(ReadText(path), "precious");

  const std::string target = folder / "target";
  const std::string link = folder / "link.json";
  ASSERT_EQ(::symlink(target.c_str(), link.c_str()), 0);
  const auto through_link = Create(link);
  ASSERT_FALSE(through_link.ok());
  EXPECT_NE(through_link.error().message.find(link), std::string::npos) << through_link.error().message;
  EXPECT_NE(::access(target.c_str(), F_OK), 0);
}

TEST(JsonJournalTest, TheFileIsNotForOthers) {
  const TemporaryFolder folder;
  const std::string path = folder / "dump.json";
  const mode_t old_mask = ::umask(0);
  const auto journal = Create(path);
  ::umask(old_mask);
  ASSERT_TRUE(journal.ok());
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0640U);
}

TEST(JsonJournalTest, AShortWriteIsCutBackAndTheMembersAreKeptForTheNextFlush) {
  const TemporaryFolder folder;
  const std::string path = folder / "dump.json";
  auto journal = Create(path);
  ASSERT_TRUE(journal.ok());
  journal->Add("first", "{}");
  ASSERT_TRUE(journal->Flush().ok());
  const std::string before = ReadText(path);

  journal->Add("second", "\"" + std::string(10'000, 'x') + "\"");
  const std::size_t buffered = journal->buffered_bytes();
  for (const rlim_t room : {rlim_t{0}, rlim_t{3}, rlim_t{4000}}) {
    const FileSizeLimit limit(before.size() + room);
    const Status status = journal->Flush();
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kOutput);
    EXPECT_NE(status.error().message.find(path), std::string::npos) << status.error().message;
    EXPECT_EQ(ReadText(path), before) << "with room for " << room << " bytes";
    EXPECT_EQ(journal->buffered_bytes(), buffered);
  }

  journal->Add("third", "{}");
  ASSERT_TRUE(journal->Flush().ok());
  EXPECT_EQ(ReadText(path), std::string(kHead) + "\n  \"first\": {},\n  \"second\": \"" + std::string(10'000, 'x') +
                                "\",\n  \"third\": {}" + kTail);
}

TEST(JsonJournalTest, CreationOnAFullDiskLeavesNoFile) {
  const TemporaryFolder folder;
  const std::string path = folder / "dump.json";
  const FileSizeLimit limit(5);
  EXPECT_FALSE(Create(path).ok());
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
}

}  // namespace
}  // namespace msprobe
