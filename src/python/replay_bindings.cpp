// msprobe._core.replay: planned calls for the executor (msprobe/pytorch/executor.py), which makes tensors and calls and
// decides nothing.

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "python/bindings.h"
#include "python/replay_values.h"
#include "replay/case.h"
#include "replay/case_report.h"
#include "replay/error_data.h"
#include "replay/replay_settings.h"

namespace nb = nanobind;

namespace msprobe {
namespace {

std::string_view View(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

nb::bytes ToBytes(const std::string& text) { return nb::bytes(text.data(), text.size()); }

/// One call while it is being checked, or the reason why it cannot be planned.
class ReplayCase {
 public:
  ReplayCase(const ReplaySettings& settings, const ReplayValues& values, CaseRequest request)
      : settings_(settings), values_(values), index_(request.index), name_(request.name) {
    auto plan = PlanCase(request, settings);
    if (plan.ok()) {
      *plan_ = std::move(plan.value());
      report_.emplace(*plan_, settings.precision);
    } else {
      skip_reason_ = plan.error().message;
    }
  }

  ReplayCase(const ReplayCase&) = delete;
  ReplayCase& operator=(const ReplayCase&) = delete;

  Case& plan() { return *plan_; }
  const std::optional<std::string>& skip_reason() const { return skip_reason_; }

  // A spec handed to Python shares the ownership of the whole plan.
  nb::list Tensors() const {
    nb::list list;
    for (TensorSpec& spec : plan_->tensors) list.append(nb::cast(std::shared_ptr<TensorSpec>(plan_, &spec)));
    return list;
  }

  nb::object Gradient() const {
    if (!plan_->backward.gradient.has_value()) return nb::none();
    return nb::cast(std::shared_ptr<TensorSpec>(plan_, &*plan_->backward.gradient));
  }

  /// `device` is None on the bench: keyword `device` is left out there (accuracy_checker.md 7.2).
  nb::tuple Arguments(const nb::list& tensors, nb::handle device) const {
    nb::list positional;
    for (const Argument& argument : plan_->positional) positional.append(values_.Make(argument, tensors, device));
    nb::dict keywords;
    for (const KeywordArgument& keyword : plan_->keywords) {
      const bool names_device = keyword.name == "device" && keyword.value.kind != Argument::Kind::kNone;
      if (names_device && device.is_none()) continue;
      keywords[keyword.name.c_str()] = names_device ? nb::borrow(device) : values_.Make(keyword.value, tensors, device);
    }
    return nb::make_tuple(positional, keywords);
  }

  void CompareForward(nb::handle bench, nb::handle device) {
    report_->CompareForward(values_.Read(bench), values_.Read(device));
  }
  void CompareBackward(nb::handle bench, nb::handle device) {
    report_->CompareBackward(values_.Read(bench), values_.Read(device));
  }

  bool WantsSaving() const { return !settings_.error_data_directory.empty() && report_->NeedsSaving(); }

  std::size_t Save(ErrorDataPart part, nb::handle value, std::size_t index) const {
    RaiseIfFailed(SaveErrorData(settings_.error_data_directory, name_, part, values_.Read(value), index));
    return index;
  }

  nb::bytes Finish() { return ToBytes(RowsMessage(index_, report_->Finish())); }
  nb::bytes Skip(const std::string& reason) const {
    // One line, and no bytes of a foreign text that a terminal or spreadsheet would act on.
    return ToBytes(RowsMessage(index_, SkipRows(name_, Excerpt(reason, 500))));
  }

  void SkipBackward(const std::string& reason) { report_->SkipBackward(Excerpt(reason, 500)); }

 private:
  const ReplaySettings& settings_;
  const ReplayValues& values_;
  std::int64_t index_;
  std::string name_;
  std::shared_ptr<Case> plan_ = std::make_shared<Case>();
  std::optional<CaseReport> report_;
  std::optional<std::string> skip_reason_;
};

/// Settings and framework types; makes cases out of the parent's messages.
class Replay {
 public:
  Replay(const nb::bytes& settings_message, nb::handle torch)
      : settings_(ValueOrRaise(ParseReplaySettings(View(settings_message)))), values_(torch) {}

  /// Owned by the caller.
  ReplayCase* MakeCase(const nb::bytes& message) const {
    return new ReplayCase(settings_, values_, ValueOrRaise(ParseCaseRequest(View(message))));
  }

 private:
  ReplaySettings settings_;
  ReplayValues values_;
};

nb::tuple ToTuple(const std::vector<std::int64_t>& numbers) {
  nb::list list;
  for (const std::int64_t number : numbers) list.append(number);
  return nb::tuple(list);
}

}  // namespace

void BindReplay(nb::module_& m) {
  nb::module_ replay = m.def_submodule("replay", "Planned calls for the accuracy checker's worker.");

  nb::enum_<ErrorDataPart>(replay, "ErrorDataPart")
      .value("FORWARD_INPUT", ErrorDataPart::kForwardInput)
      .value("FORWARD_BENCH", ErrorDataPart::kForwardBench)
      .value("FORWARD_DEVICE", ErrorDataPart::kForwardDevice)
      .value("BACKWARD_INPUT", ErrorDataPart::kBackwardInput)
      .value("BACKWARD_BENCH", ErrorDataPart::kBackwardBench)
      .value("BACKWARD_DEVICE", ErrorDataPart::kBackwardDevice);

  nb::class_<TensorSpec>(replay, "TensorSpec")
      .def_prop_ro("dtype", [](const TensorSpec& spec) { return std::string(ShortName(spec.dtype)); })
      .def_prop_ro("bench_dtype", [](const TensorSpec& spec) { return std::string(ShortName(spec.bench_dtype)); })
      .def_prop_ro("shape", [](const TensorSpec& spec) { return ToTuple(spec.shape); })
      .def_prop_ro("strides",
                   [](const TensorSpec& spec) -> nb::object {
                     if (spec.strides.empty()) return nb::none();
                     return ToTuple(spec.strides);
                   })
      .def_ro("storage_offset", &TensorSpec::storage_offset)
      .def_ro("storage_count", &TensorSpec::storage_count)
      .def_ro("requires_grad", &TensorSpec::requires_grad)
      .def(
          "fill",
          [](TensorSpec& spec, nb::handle storage) {
            const WritableStorage memory = ReadWritableStorage(storage, spec.dtype);
            RaiseIfFailed(FillStorage(spec, memory.data, memory.size));
          },
          "Writes the values into a contiguous host tensor of storage_count elements.");

  nb::class_<ReplayCase>(replay, "ReplayCase")
      .def_prop_ro("skip_reason", &ReplayCase::skip_reason, "Why the call cannot be made; None: it can.")
      .def_prop_ro("kind", [](ReplayCase& self) { return self.plan().kind; })
      .def_prop_ro("function", [](ReplayCase& self) { return self.plan().function; })
      .def_prop_ro("in_place", [](ReplayCase& self) { return self.plan().in_place; })
      .def_prop_ro("seed", [](ReplayCase& self) { return self.plan().seed; })
      .def_prop_ro("autocast",
                   [](ReplayCase& self) -> std::optional<std::string> {
                     if (!self.plan().autocast.has_value()) return std::nullopt;
                     return std::string(ShortName(*self.plan().autocast));
                   })
      .def_prop_ro("runs_backward", [](ReplayCase& self) { return self.plan().backward.run; })
      .def_prop_ro("backward_skip_reason", [](ReplayCase& self) { return self.plan().backward.skip_reason; })
      .def_prop_ro("gradient_output", [](ReplayCase& self) { return self.plan().backward.output; })
      .def_prop_ro("compared_output", [](ReplayCase& self) { return ComparedOutput(self.plan().api); })
      .def_prop_ro("updated",
                   [](ReplayCase& self) {
                     nb::list list;
                     for (const std::size_t tensor : self.plan().updated) list.append(tensor);
                     return list;
                   })
      .def_prop_ro("tensors", &ReplayCase::Tensors)
      .def_prop_ro("gradient", &ReplayCase::Gradient)
      .def("arguments", &ReplayCase::Arguments, nb::arg("tensors"), nb::arg("device").none())
      .def("compare_forward", &ReplayCase::CompareForward)
      .def("compare_backward", &ReplayCase::CompareBackward)
      .def("skip_backward", &ReplayCase::SkipBackward)
      .def("wants_saving", &ReplayCase::WantsSaving)
      .def("save", &ReplayCase::Save)
      .def("finish", &ReplayCase::Finish, "The message with the rows.")
      .def("skip", &ReplayCase::Skip, "The message with SKIP in both directions.");

  nb::class_<Replay>(replay, "Replay")
      .def(nb::init<const nb::bytes&, nb::handle>(), nb::arg("settings"), nb::arg("torch"))
      .def("case", &Replay::MakeCase, nb::rv_policy::take_ownership, nb::keep_alive<0, 1>());
}

}  // namespace msprobe
