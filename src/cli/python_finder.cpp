#include "cli/python_finder.h"

#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "base/file_handle.h"
#include "base/files.h"
#include "cli/child_environment.h"

namespace msprobe {
namespace {

constexpr int kProbeMilliseconds = 60'000;
constexpr const char* kMarkerFile = "pytorch/api_accuracy_checker/config.yaml";
constexpr const char* kProbe =
    "import importlib.util as u; s = u.find_spec('msprobe'); "
    "print('package_dir=' + list(s.submodule_search_locations)[0] if s else 'none')";

bool IsReadable(const std::string& path) { return ::access(path.c_str(), R_OK) == 0; }
bool IsExecutable(const std::string& path) { return ::access(path.c_str(), X_OK) == 0; }

std::string ExecutableFolder() {
  char path[PATH_MAX] = {};
  const ssize_t length = ::readlink("/proc/self/exe", path, sizeof(path) - 1);
  return length > 0 ? ParentPath(std::string(path, static_cast<std::size_t>(length))) : "";
}

/// Everything a program prints, read until it ends or the time is over.
std::string ReadAll(int descriptor) {
  std::string text;
  char buffer[4096];
  struct pollfd file = {descriptor, POLLIN, 0};
  while (::poll(&file, 1, kProbeMilliseconds) > 0) {
    const ssize_t count = ::read(descriptor, buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    text.append(buffer, static_cast<std::size_t>(count));
  }
  return text;
}

/// Asks a Python where its package msprobe lies; "" if it has none or cannot be started.
std::string ProbePackageDir(const std::string& python) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return "";
  FileHandle output(ends[0]);
  FileHandle input(ends[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, input.get(), STDOUT_FILENO);
  std::vector<std::string> arguments{python, "-c", kProbe};
  std::vector<std::string> variables = ChildEnvironment();
  pid_t pid = -1;
  const int error = ::posix_spawnp(&pid, python.c_str(), &actions, nullptr, ExecPointers(arguments).data(),
                                   ExecPointers(variables).data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return "";
  input = FileHandle();
  const std::string text = ReadAll(output.get());
  ::kill(pid, SIGKILL);
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  constexpr std::string_view kMark = "package_dir=";
  const auto begin = text.find(kMark);
  if (begin == std::string::npos) return "";
  return std::string(Trim(std::string_view(text).substr(begin + kMark.size())));
}

}  // namespace

std::string PackageFile(const std::string& package_dir, const std::string& relative) {
  if (package_dir.empty()) return "";
  std::string path = JoinPath(package_dir, relative);
  return IsReadable(path) ? path : "";
}

std::string FindBesideExecutable(const std::string& pattern, const std::string& marker) {
  const std::string folder = ExecutableFolder();
  if (folder.empty()) return "";
  for (const char* library : {"lib", "lib64"}) {
    const std::string whole = JoinPath(ParentPath(folder), std::string(library) + "/python3*/site-packages/" + pattern);
    glob_t found = {};
    std::string path;
    if (::glob(whole.c_str(), 0, nullptr, &found) == 0) {
      for (std::size_t i = 0; i < found.gl_pathc && path.empty(); ++i) {
        if (marker.empty() || IsReadable(JoinPath(found.gl_pathv[i], marker))) path = found.gl_pathv[i];
      }
    }
    ::globfree(&found);
    if (!path.empty()) return path;
  }
  return "";
}

std::string PackageDirBesideExecutable() {
  if (const char* variable = ::getenv("MSPROBE_PACKAGE_DIR"); variable != nullptr && *variable != '\0') return variable;
  return FindBesideExecutable("msprobe", kMarkerFile);
}

Result<PythonInstallation> FindPython(const std::string& python_option) {
  const char* variable = ::getenv("MSPROBE_PACKAGE_DIR");
  const std::string named_dir = variable != nullptr ? variable : "";
  if (!python_option.empty()) {
    return PythonInstallation{python_option, named_dir.empty() ? ProbePackageDir(python_option) : named_dir};
  }
  std::string tried;
  const std::string folder = ExecutableFolder();
  for (const char* name : {"python3", "python"}) {
    const std::string path = JoinPath(folder, name);
    if (!IsExecutable(path)) continue;
    std::string package_dir = PackageDirBesideExecutable();
    if (package_dir.empty()) package_dir = ProbePackageDir(path);
    if (!package_dir.empty()) return PythonInstallation{path, package_dir};
    tried += path + ", ";
  }
  for (const char* name : {"python3", "python"}) {
    const std::string package_dir = ProbePackageDir(name);
    if (!package_dir.empty()) return PythonInstallation{name, named_dir.empty() ? package_dir : named_dir};
  }
  return Error{ErrorCode::kDevice, "no Python with the package msprobe was found; tried " + Printable(tried) +
                                       "python3 and python on PATH; name one with --python"};
}

}  // namespace msprobe
