#include "base/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "base/new_file.h"
#include "base/temporary_folder.h"

namespace msprobe {
namespace {

unsigned Mode(const std::string& path) {
  struct stat info = {};
  EXPECT_EQ(::stat(path.c_str(), &info), 0);
  return info.st_mode & 0777U;
}

TEST(CheckInputFile, SaysWhatIsWrong) {
  TemporaryFolder folder;
  const std::string file = folder.Write("with blank \xE5\xB0\x8F.csv", "x");
  EXPECT_TRUE(CheckInputFile(file, ".csv").ok());
  EXPECT_FALSE(CheckInputFile(file, ".json").ok());
  EXPECT_FALSE(CheckInputFile(folder.path()).ok());
  EXPECT_FALSE(CheckInputFile("").ok());
  EXPECT_FALSE(CheckInputFile(folder.path() + "/absent.csv").ok());
  EXPECT_FALSE(CheckInputFile(file + "\n").ok());
  EXPECT_FALSE(CheckInputFile(file + std::string("\0.csv", 5)).ok());
  EXPECT_FALSE(CheckInputFile(folder.path() + "/" + std::string(256, 'a')).ok());
  EXPECT_FALSE(CheckInputFile(std::string(5000, 'a')).ok());
  const Status absent = CheckInputFile(folder.path() + "/absent.csv");
  EXPECT_NE(absent.error().message.find("absent.csv does not exist"), std::string::npos) << absent.error().message;
  EXPECT_EQ(absent.error().code, ErrorCode::kInput);
}

TEST(CheckInputFile, ResolvesLinksWithAWarning) {
  TemporaryFolder folder;
  const std::string file = folder.Write("target.csv", "x");
  const std::string link = folder.path() + "/link.csv";
  ASSERT_EQ(::symlink(file.c_str(), link.c_str()), 0);
  std::vector<std::string> warnings;
  EXPECT_TRUE(CheckInputFile(link, ".csv", &warnings).ok());
  EXPECT_EQ(warnings.size(), 1U);
  const std::string loop = folder.path() + "/loop";
  ASSERT_EQ(::symlink(loop.c_str(), loop.c_str()), 0);
  EXPECT_FALSE(CheckInputFile(loop).ok());
}

TEST(CheckInputFile, APipeNeverBlocks) {
  TemporaryFolder folder;
  const std::string pipe = folder.path() + "/pipe.json";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_FALSE(CheckInputFile(pipe).ok());
  EXPECT_FALSE(ReadFile(pipe).ok());
}

TEST(CheckInputDirectory, WantsAFolder) {
  TemporaryFolder folder;
  EXPECT_TRUE(CheckInputDirectory(folder.path()).ok());
  EXPECT_FALSE(CheckInputDirectory(folder.Write("file", "")).ok());
}

TEST(CreateDirectories, MakesParentsWithNarrowPermissions) {
  TemporaryFolder folder;
  const ::mode_t old_mask = ::umask(0);
  EXPECT_TRUE(CreateDirectories(folder.path() + "/a/b/c").ok());
  ::umask(old_mask);
  EXPECT_EQ(Mode(folder.path() + "/a/b"), 0750U);
  EXPECT_TRUE(CreateDirectories(folder.path() + "/a/b/c/").ok());
  const std::string file = folder.Write("file", "");
  const Status below_file = CreateDirectories(file + "/d");
  ASSERT_FALSE(below_file.ok());
  EXPECT_NE(below_file.error().message.find("is a file"), std::string::npos) << below_file.error().message;
}

TEST(ReadFile, HasALimit) {
  TemporaryFolder folder;
  const std::string file = folder.Write("ten", "0123456789");
  EXPECT_EQ(ReadFile(file, 10).value(), "0123456789");
  EXPECT_FALSE(ReadFile(file, 9).ok());
}

TEST(WriteFileAtomically, ReplacesAndLeavesNothingElse) {
  TemporaryFolder folder;
  const std::string path = folder.path() + "/out.json";
  ASSERT_TRUE(WriteFileAtomically(path, "old").ok());
  ASSERT_TRUE(WriteFileAtomically(path, "new").ok());
  EXPECT_EQ(TemporaryFolder::Read(path), "new");
  EXPECT_EQ(Mode(path), 0640U);
  EXPECT_EQ(folder.CountFiles(), 1U);
  EXPECT_FALSE(WriteFileAtomically(folder.path() + "/absent/out.json", "x").ok());
}

TEST(WriteFileAtomically, NeverWritesThroughALink) {
  TemporaryFolder folder;
  const std::string victim = folder.Write("victim", "keep");
  const std::string link = folder.path() + "/out";
  ASSERT_EQ(::symlink(victim.c_str(), link.c_str()), 0);
  ASSERT_TRUE(WriteFileAtomically(link, "new").ok());
  EXPECT_EQ(TemporaryFolder::Read(victim), "keep");
  EXPECT_EQ(TemporaryFolder::Read(link), "new");
}

TEST(NewFile, LeavesNothingWithoutPublish) {
  TemporaryFolder folder;
  {
    Result<NewFile> file = NewFile::Create(folder.path());
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->Append(std::string(1U << 20U, 'x')).ok());
  }
  EXPECT_EQ(folder.CountFiles(), 0U);
}

TEST(NewFile, NeverReplacesWhenAskedNotTo) {
  TemporaryFolder folder;
  const std::string taken = folder.Write("taken", "old");
  Result<NewFile> file = NewFile::Create(folder.path());
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->Append("new").ok());
  const Result<bool> first = file->PublishIfAbsent(taken);
  ASSERT_TRUE(first.ok());
  EXPECT_FALSE(*first);
  const Result<bool> second = file->PublishIfAbsent(folder.path() + "/free");
  ASSERT_TRUE(second.ok());
  EXPECT_TRUE(*second);
  EXPECT_EQ(TemporaryFolder::Read(taken), "old");
  EXPECT_EQ(TemporaryFolder::Read(folder.path() + "/free"), "new");
  EXPECT_EQ(folder.CountFiles(), 2U);
}

TEST(ResolveInside, KeepsNamesInTheirFolder) {
  TemporaryFolder folder;
  folder.Write("a.npy", "");
  EXPECT_EQ(ResolveInside(folder.path(), "a.npy").value(), folder.path() + "/a.npy");
  EXPECT_TRUE(ResolveInside(folder.path(), "not yet there.npy").ok());
  const std::string long_name(256, 'a');
  for (const std::string_view name :
       {std::string_view(""), std::string_view("."), std::string_view(".."), std::string_view("../a"),
        std::string_view("/etc/passwd"), std::string_view("b/a"), std::string_view("a\nb"), std::string_view("a\0b", 3),
        std::string_view(long_name)}) {
    EXPECT_FALSE(ResolveInside(folder.path(), name).ok()) << name;
  }
  ASSERT_EQ(::symlink("/etc/passwd", (folder.path() + "/link.npy").c_str()), 0);
  EXPECT_FALSE(ResolveInside(folder.path(), "link.npy").ok());
}

TEST(Paths, AreTakenApartAndJoined) {
  EXPECT_EQ(AbsolutePath(""), "");
  EXPECT_EQ(AbsolutePath("/a/./b/../c/"), "/a/c");
  EXPECT_EQ(AbsolutePath("x/y"), std::filesystem::current_path().string() + "/x/y");
  EXPECT_EQ(JoinPath("a/", "b"), "a/b");
  EXPECT_EQ(JoinPath("", "b"), "b");
  EXPECT_EQ(ParentPath("/a/b"), "/a");
  EXPECT_EQ(ParentPath("/a"), "/");
  EXPECT_EQ(ParentPath("a"), ".");
  EXPECT_EQ(BaseName("/a/b.csv"), "b.csv");
}

TEST(Time, HasFourteenDigits) {
  const std::string stamp = TimeStamp();
  EXPECT_EQ(stamp.size(), 14U);
  EXPECT_EQ(stamp.find_first_not_of("0123456789"), std::string::npos);
}

}  // namespace
}  // namespace msprobe
