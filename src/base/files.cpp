#include "base/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>
#include <system_error>

#include "base/file_handle.h"
#include "base/new_file.h"

namespace msprobe {
namespace {

constexpr std::size_t kMaxPathLength = 4096;
constexpr std::size_t kMaxNameLength = 255;
constexpr mode_t kDirectoryMode = 0750;

bool HasControlCharacter(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) return true;
  }
  return false;
}

// What can be said about a path without touching the disk.
Status CheckPathText(const std::string& path) {
  if (path.empty()) return Error{ErrorCode::kInput, "the path is empty; name a file or folder"};
  if (HasControlCharacter(path)) {
    return Error{ErrorCode::kInput,
                 "the path " + Excerpt(path) + " contains a control character; rename the file or folder"};
  }
  if (path.size() > kMaxPathLength) {
    return Error{ErrorCode::kInput, "the path " + Excerpt(path) + " is longer than 4096 bytes; use a shorter one"};
  }
  if (BaseName(path).size() > kMaxNameLength) {
    return Error{ErrorCode::kInput,
                 "the name in the path " + Excerpt(path) + " is longer than 255 bytes; use a shorter one"};
  }
  return {};
}

struct CFree {
  void operator()(char* text) const { std::free(text); }  // NOLINT: realpath allocates with malloc
};

// Resolves links and checks the text again; the resolved path.
Result<std::string> ResolveExisting(const std::string& path, struct stat* info) {
  if (Status text = CheckPathText(path); !text.ok()) return text.error();
  const std::unique_ptr<char, CFree> resolved(::realpath(path.c_str(), nullptr));
  if (!resolved) {
    if (errno == ENOENT) return Error{ErrorCode::kInput, Printable(path) + " does not exist; check the path"};
    if (errno == ELOOP) return Error{ErrorCode::kInput, Printable(path) + " is a chain of links that never ends"};
    return SystemError(ErrorCode::kInput, "open", path, errno);
  }
  std::string real = resolved.get();
  if (Status text = CheckPathText(real); !text.ok()) return text.error();
  if (::stat(real.c_str(), info) != 0) return SystemError(ErrorCode::kInput, "open", path, errno);
  return real;
}

void WarnAboutSafety(const std::string& path, const struct stat& target, std::vector<std::string>* warnings) {
  if (warnings == nullptr) return;
  struct stat link = {};
  if (::lstat(path.c_str(), &link) == 0 && S_ISLNK(link.st_mode)) {
    warnings->push_back(Printable(path) + " is a symbolic link; its target is used");
  }
  if (target.st_uid != ::getuid() && (target.st_mode & S_IWOTH) != 0) {
    warnings->push_back(Printable(path) + " belongs to another user and can be written by everyone; chmod o-w it");
  }
}

}  // namespace

FileHandle::~FileHandle() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Error SystemError(ErrorCode otherwise, const char* action, const std::string& path, int error_number) {
  const bool denied = error_number == EACCES || error_number == EPERM;
  return {denied ? ErrorCode::kPermission : otherwise, std::string("cannot ") + action + " " + Printable(path) + ": " +
                                                           std::generic_category().message(error_number)};
}

Result<FileHandle> OpenInputFile(const std::string& path) {
  if (Status checked = CheckInputFile(path); !checked.ok()) return checked.error();
  FileHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open()) return SystemError(ErrorCode::kInput, "open", path, errno);
  struct stat info = {};
  if (::fstat(file.get(), &info) != 0) return SystemError(ErrorCode::kInput, "open", path, errno);
  if (!S_ISREG(info.st_mode)) return Error{ErrorCode::kInput, Printable(path) + " is not a regular file"};
  return file;
}

Result<std::size_t> ReadSome(const FileHandle& file, char* buffer, std::size_t size, const std::string& path) {
  while (true) {
    const ssize_t count = ::read(file.get(), buffer, size);
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno != EINTR) return SystemError(ErrorCode::kInput, "read", path, errno);
  }
}

Status WriteAll(const FileHandle& file, const char* data, std::size_t size, const std::string& path) {
  while (size > 0) {
    const ssize_t count = ::write(file.get(), data, size);
    if (count < 0) {
      if (errno == EINTR) continue;
      return SystemError(ErrorCode::kOutput, "write", path, errno);
    }
    data += count;
    size -= static_cast<std::size_t>(count);
  }
  return {};
}

Status CheckInputFile(const std::string& path, std::string_view required_suffix, std::vector<std::string>* warnings) {
  struct stat info = {};
  const Result<std::string> real = ResolveExisting(path, &info);
  if (!real.ok()) return real.error();
  if (!S_ISREG(info.st_mode)) {
    return Error{ErrorCode::kInput, Printable(path) + " is not a regular file; name a file"};
  }
  if (!required_suffix.empty() && !path.ends_with(required_suffix)) {
    return Error{ErrorCode::kInput, Printable(path) + " does not end in " + std::string(required_suffix)};
  }
  if (::access(real->c_str(), R_OK) != 0) {
    return Error{ErrorCode::kPermission, Printable(path) + " may not be read by this user; change its permissions"};
  }
  WarnAboutSafety(path, info, warnings);
  return {};
}

Status CheckInputDirectory(const std::string& path) {
  struct stat info = {};
  const Result<std::string> real = ResolveExisting(path, &info);
  if (!real.ok()) return real.error();
  if (!S_ISDIR(info.st_mode)) return Error{ErrorCode::kInput, Printable(path) + " is not a folder; name a folder"};
  if (::access(real->c_str(), R_OK | X_OK) != 0) {
    return Error{ErrorCode::kPermission, Printable(path) + " may not be read by this user; change its permissions"};
  }
  return {};
}

Status CheckOutputPath(const std::string& path) {
  Status text = CheckPathText(path);
  return text.ok() ? text : Status(Error{ErrorCode::kOutput, text.error().message});
}

Status CreateDirectories(const std::string& path) {
  if (Status text = CheckOutputPath(path); !text.ok()) return text;
  const std::string absolute = AbsolutePath(path);
  for (std::size_t end = 1; end <= absolute.size(); ++end) {
    if (end < absolute.size() && absolute[end] != '/') continue;
    const std::string part = absolute.substr(0, end);
    if (::mkdir(part.c_str(), kDirectoryMode) == 0) continue;
    const int reason = errno;
    struct stat info = {};
    // EEXIST, but also EACCES or EROFS for a parent that is already there.
    if (::stat(part.c_str(), &info) == 0) {
      if (S_ISDIR(info.st_mode)) continue;
      return Error{ErrorCode::kOutput, "cannot create the folder " + Printable(path) + ": " + Printable(part) +
                                           " is a file; use another name"};
    }
    if (::lstat(part.c_str(), &info) == 0 && S_ISLNK(info.st_mode)) {
      return Error{ErrorCode::kOutput, "cannot create the folder " + Printable(path) + ": " + Printable(part) +
                                           " is a symbolic link that leads nowhere; use another name"};
    }
    return SystemError(ErrorCode::kOutput, "create the folder", part, reason);
  }
  return {};
}

Result<std::string> ReadFile(const std::string& path, std::uint64_t limit) {
  Result<FileHandle> file = OpenInputFile(path);
  if (!file.ok()) return file.error();
  std::string content;
  std::array<char, 1U << 16U> buffer;
  while (true) {
    const Result<std::size_t> count = ReadSome(*file, buffer.data(), buffer.size(), path);
    if (!count.ok()) return count.error();
    if (*count == 0) return content;
    if (*count > limit - content.size()) {
      return Error{ErrorCode::kInput,
                   Printable(path) + " is larger than " + std::to_string(limit) + " bytes; it is not used"};
    }
    content.append(buffer.data(), *count);
  }
}

Status WriteFileAtomically(const std::string& path, std::string_view content) {
  if (Status text = CheckOutputPath(path); !text.ok()) return text;
  Result<NewFile> file = NewFile::Create(ParentPath(path));
  if (!file.ok()) return file.error();
  if (Status written = file->Append(content); !written.ok()) return written;
  return file->Publish(path);
}

Result<std::string> ResolveInside(const std::string& folder, std::string_view name) {
  const auto refuse = [&](const char* reason) {
    return Error{ErrorCode::kInput, "the file name \"" + Excerpt(name) + "\" " + reason + "; the file is not used"};
  };
  if (name.empty() || name == ".") return refuse("names no file");
  if (name.find('/') != std::string_view::npos) return refuse("contains a path separator");
  if (name.find("..") != std::string_view::npos) return refuse("contains \"..\"");
  if (HasControlCharacter(name)) return refuse("contains a control character");
  if (name.size() > kMaxNameLength) return refuse("is longer than 255 bytes");
  std::string path = JoinPath(folder, name);
  struct stat info = {};
  if (::lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode)) return refuse("is a symbolic link");
  return path;
}

std::string AbsolutePath(const std::string& path) {
  if (path.empty()) return {};
  std::string absolute = path;
  if (path.front() != '/') {
    const std::unique_ptr<char, CFree> current(::getcwd(nullptr, 0));
    absolute = JoinPath(current ? current.get() : "/", path);
  }
  absolute = std::filesystem::path(absolute).lexically_normal().string();
  while (absolute.size() > 1 && absolute.back() == '/') absolute.pop_back();
  return absolute;
}

std::string JoinPath(std::string_view folder, std::string_view name) {
  std::string path(folder);
  if (!path.empty() && path.back() != '/') path += '/';
  path += name;
  return path;
}

std::string ParentPath(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string BaseName(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

std::string TimeStamp() {
  const std::time_t now = std::time(nullptr);
  std::tm local = {};
  ::localtime_r(&now, &local);
  std::array<char, 32> text = {};
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y%m%d%H%M%S", &local);
  return std::string(text.data(), length);
}

}  // namespace msprobe
