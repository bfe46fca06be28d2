#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>

#include <string>

#include "python/dump_session.h"
#include "python/recorded_call.h"
#include "python/recorded_function.h"
#include "python/saved_value.h"

namespace nb = nanobind;

namespace msprobe {

void BindDebug(nb::class_<DumpSession>& session) {
  session
      .def("save",
           [](DumpSession& s, const std::string& name, const nb::object& variable, bool with_gradients) {
             Translated([&] {
               SaveValue(s.shared_recording(), name, variable.ptr(), with_gradients);
               return 0;
             });
           })
      .def(
          "make_recorded_function",
          [](DumpSession& s, std::size_t api, const nb::object& original, bool nested, bool communicates) {
            return Translated([&] {
              return ToPython(MakeRecordedFunction(s.shared_recording(), api, original.ptr(), nested,
                                                   communicates ? Answer::kCommunication : Answer::kResult));
            });
          },
          nb::arg("api"), nb::arg("original"), nb::arg("nested") = false, nb::arg("communicates") = false)
      .def("record_call",
           [](DumpSession& s, std::size_t api, const nb::object& function, const nb::tuple& arguments,
              const nb::dict& keywords) {
             return Translated([&] {
               return nb::steal(
                   Checked(RecordedCall(s.shared_recording(), api, function.ptr(), arguments.ptr(), keywords.ptr()))
                       .Release());
             });
           })
      .def("set_kernel_dump",
           [](DumpSession& s, const nb::object& dump) { s.recording().kernel_dump = Object::Borrow(dump.ptr()); })
      .def_prop_ro("kernel_name", [](DumpSession& s) { return s.settings().kernel_name; })
      .def_prop_ro("acl_config", [](DumpSession& s) { return s.settings().acl_config; })
      .def("adopt_rank", [](DumpSession& s, std::int64_t rank) { return ValueOrRaise(s.collector().AdoptRank(rank)); })
      .def("take_seconds_inside", [](DumpSession& s) { return s.recording().framework.TakeSecondsInside(); })
      .def_prop_ro("unsupported_types", [](DumpSession& s) { return s.recording().values.unsupported_types(); })
      .def_prop_ro("totals", [](DumpSession& s) {
        const StepTotals totals = s.collector().totals();
        nb::dict result;
        result["records"] = totals.records;
        result["lost"] = totals.lost;
        result["saved_values"] = totals.saved_values;
        result["tensors"] = totals.tensors;
        result["json_bytes"] = totals.json_bytes;
        result["tensor_files"] = totals.tensor_files;
        result["tensor_bytes"] = totals.tensor_bytes;
        return result;
      });
}

}  // namespace msprobe
