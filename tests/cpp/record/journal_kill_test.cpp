// The journal against the reader: a process killed in the middle of its work, and the cost of many flushes.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <new>
#include <string>
#include <thread>

#include "record/dump_reader.h"
#include "record/json_journal.h"
#include "record/temporary_folder.h"

namespace msprobe {
namespace {

constexpr char kHead[] = "{\n \"task\": \"statistics\",\n \"level\": \"L1\",\n \"dump_data_dir\": null,\n \"data\": {";
constexpr char kTail[] = "\n }\n}\n";

std::string Value(int record) {
  // Up to 150 KB, so that a write of the kernel takes many pages and can be cut between two.
  return "{\"input_args\": [\"" + std::string(static_cast<std::size_t>(record % 16) * 10'000, 'x') +
         "\"], \"number\": " + std::to_string(record) + "}";
}

/// What a training process does until it is killed.
[[noreturn]] void WriteUntilKilled(const std::string& path, std::atomic<int>& flushed) {
  auto journal = JsonJournal::Create(path, kHead, kTail, "  ");
  if (!journal.ok()) ::_exit(1);
  for (int record = 0;; ++record) {
    journal->Add("Functional.linear." + std::to_string(record) + ".forward", Value(record));
    if (record % 3 != 0) continue;
    if (!journal->Flush().ok()) ::_exit(1);
    flushed.store(record + 1);
  }
}

TEST(JournalKillTest, AKilledProcessLosesNothingThatWasFlushed) {
  void* const shared =
      ::mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto& flushed = *new (shared) std::atomic<int>(0);
  const TemporaryFolder folder;
  for (int round = 0; round < 20; ++round) {
    const std::string path = folder / ("dump" + std::to_string(round) + ".json");
    flushed = 0;
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) WriteUntilKilled(path, flushed);
    // From the first flush on, at any moment.
    while (flushed == 0 && ::waitpid(child, nullptr, WNOHANG) == 0) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds(1500 + round * 377));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the writer ended by itself";

    const auto index = IndexDump(path);
    ASSERT_TRUE(index.ok()) << index.error().message;
    EXPECT_EQ(index->header.task, "statistics");
    EXPECT_TRUE(index->has_data);
    EXPECT_GE(index->records.size(), static_cast<std::size_t>(flushed.load()));
    int record = 0;
    const auto read = ReadDump(path, [&](Record&& found) {
      EXPECT_EQ(found.name, "Functional.linear." + std::to_string(record) + ".forward");
      const Element* number = found.Section("number");
      EXPECT_TRUE(number != nullptr && *number == Element(std::int64_t{record}));
      ++record;
      return true;
    });
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(static_cast<std::size_t>(record), index->records.size());
    std::filesystem::remove(path);
  }
  ::munmap(shared, sizeof(std::atomic<int>));
}

/// Bytes that this process has handed to write(2) so far; -1 where the system does not say.
long long BytesWritten() {
  std::ifstream in("/proc/self/io");
  std::string key;
  long long value = 0;
  while (in >> key >> value) {
    if (key == "wchar:") return value;
  }
  return -1;
}

TEST(JournalKillTest, ManyFlushesWriteTheFileOnceAndItsTailOften) {
  const TemporaryFolder folder;
  const std::string path = folder / "dump.json";
  auto journal = JsonJournal::Create(path, kHead, kTail, "  ");
  ASSERT_TRUE(journal.ok());
  constexpr int kFlushes = 5000;
  const long long before = BytesWritten();
  if (before < 0) GTEST_SKIP() << "no /proc/self/io";
  for (int record = 0; record < kFlushes; ++record) {
    journal->Add("r" + std::to_string(record), "{\"input_args\": []}");
    ASSERT_TRUE(journal->Flush().ok());
  }
  const long long written = BytesWritten() - before;
  const auto file_size = static_cast<long long>(std::filesystem::file_size(path));
  EXPECT_LE(written, file_size + kFlushes * static_cast<long long>(sizeof(kTail)));
  const auto index = IndexDump(path);
  ASSERT_TRUE(index.ok());
  EXPECT_FALSE(index->truncated);
  EXPECT_EQ(index->records.size(), static_cast<std::size_t>(kFlushes));
}

}  // namespace
}  // namespace msprobe
