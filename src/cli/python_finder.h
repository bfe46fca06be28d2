#pragma once

#include <string>

#include "base/result.h"

namespace msprobe {

/// The Python that runs the checker's workers, and the package's folder with the editable data files.
struct PythonInstallation {
  std::string python;       ///< a path, or a name on PATH
  std::string package_dir;  ///< ".../msprobe"; "" where it is not known: the compiled-in defaults hold
};

/// Finds it (decisions 46): `python_option` (--python) if given; else the interpreter beside this executable; else the
/// first of python3 and python on PATH that has the package. MSPROBE_PACKAGE_DIR names the package's folder where it is
/// set. The error names everything that was tried.
Result<PythonInstallation> FindPython(const std::string& python_option);

/// The package folder alone, without starting any Python: MSPROBE_PACKAGE_DIR or the place beside this executable.
std::string PackageDirBesideExecutable();

/// The first thing that matches `pattern` in the site-packages of the environment that this executable is installed in,
/// and that holds the file `marker` if one is given; "" if there is none.
std::string FindBesideExecutable(const std::string& pattern, const std::string& marker = "");

/// `package_dir`/`relative`, "" where there is no such file.
std::string PackageFile(const std::string& package_dir, const std::string& relative);

}  // namespace msprobe
