#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "python/bindings.h"

namespace nb = nanobind;

namespace msprobe {

void Raise(const Error& error) {
  nb::object raise_error = nb::module_::import_("msprobe.core.common.exceptions").attr("raise_error");
  raise_error(static_cast<int>(error.code), error.message);
  throw nb::value_error(error.message.c_str());  // not reached: raise_error always raises
}

}  // namespace msprobe

NB_MODULE(_core, m) {
  // A debugger lives until the interpreter ends; that is no leak.
  nb::set_leak_warnings(false);
  msprobe::BindConfig(m);
  msprobe::BindCollect(m);
  msprobe::BindTorch(m);
  msprobe::BindMindSpore(m);
  msprobe::BindReplay(m);
}
