#include "collect/collector.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "numerics/checksum.h"
#include "numerics/statistics.h"
#include "record/json_writer.h"
#include "record/tensor_elements.h"

namespace msprobe {
Collector::Collector(DumpSettings settings, Framework framework)
    : settings_(std::move(settings)),
      framework_(framework),
      filter_(settings_),
      held_(framework, SynchronousSaving(), [this](FinishedRecord record) { Write(std::move(record)); }) {
  if (settings_.task == Task::kOverflowCheck) {
    overflow_.emplace(settings_.overflow_nums);
  }
}

bool Collector::StepSelected() const {
  return settings_.steps.empty() || std::binary_search(settings_.steps.begin(), settings_.steps.end(), step_);
}

bool Collector::StepsExhausted() const { return !settings_.steps.empty() && step_ > settings_.steps.back(); }

bool Collector::RankSelected(std::optional<std::int64_t> rank) const {
  return settings_.ranks.empty() ||
         std::binary_search(settings_.ranks.begin(), settings_.ranks.end(), rank.value_or(0));
}

Status Collector::Start(std::optional<std::int64_t> rank, ElementObject header_extra) {
  if (finished()) {
    return {};
  }
  if (!writer_ && settings_.level != Level::kL2) {  // whose files are the device's
    auto writer = StepWriter::Create(settings_, framework_, step_, rank, std::move(header_extra));
    if (!writer) {
      return writer.error();
    }
    writer_ = std::move(*writer);
  }
  collecting_ = true;
  return {};
}

Status Collector::Flush() {
  if (late_ != nullptr) {
    held_.Release(*late_);
  }
  return writer_ ? writer_->Flush() : Status();
}

Status Collector::BeginStep(std::int64_t step) {
  collecting_ = false;
  if (writer_ && micro_step_) {
    writer_->AddTreeEntry({"megatron_micro_step_number", std::to_string(*micro_step_)});
  }
  micro_step_.reset();
  if (late_ != nullptr) {
    held_.Release(*late_);
    held_.ReleaseUnknown();
  }
  Status flushed = Flush();
  finished_totals_ = totals();
  if (writer_ && flushed.ok() && !counter_.any() && finished_totals_.records == 0 &&
      finished_totals_.saved_values == 0) {
    StepWriter::Discard(std::move(writer_));  // known_pains.md P702
  }
  writer_.reset();
  counter_.Reset();
  filter_.Reset();
  if (overflow_) {
    overflow_->Reset();
  }
  named_roots_.clear();
  saved_counts_.clear();
  step_ = step;
  return flushed;
}

namespace {

std::string Decimal(std::uint64_t number) {
  std::array<char, 24> digits;  // NOLINT: filled below
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  return {digits.data(), end};
}

}  // namespace

Call Collector::BeginCall(std::size_t api) {
  Call call;
  call.subject = api;
  call.number = counter_.Take(api);
  const std::string& full_name = counter_.name(api);
  call.forward_name.reserve(full_name.size() + 32);
  call.forward_name.append(full_name).append(1, '.').append(Decimal(call.number)).append(".forward");
  call.keeps_forward = filter_.Admit(call.forward_name) && data_mode().forward;
  return call;
}

std::shared_ptr<ModuleCall> Collector::BeginModule(std::size_t module, std::shared_ptr<ModuleCall> parent) {
  auto begun = std::make_shared<ModuleCall>();
  Call& call = begun->call;
  call.subject = module;
  call.number = counter_.Take(module);
  call.forward_name = counter_.name(module) + ".forward." + Decimal(call.number);
  filter_.BeginModule(call.forward_name);
  call.keeps_forward = filter_.Admit(call.forward_name) && data_mode().forward;
  begun->parent = std::move(parent);
  return begun;
}

void Collector::EndModule(const ModuleCall& module) { filter_.EndModule(module.call.forward_name); }

bool Collector::BeginModuleBackward(ModuleCall& module) {
  if (!module.admits_backward) {
    if (const auto parent = ModuleCall::WithBackward(module.parent)) {
      BeginModuleBackward(*parent);
    }
    const std::string name = module.call.Name(Direction::kBackward);
    filter_.BeginModule(name);
    module.backward_in_scope = filter_.in_scope();
    module.admits_backward = filter_.Admit(name) && data_mode().backward;
  }
  return *module.admits_backward;
}

void Collector::EndModuleBackward(const ModuleCall& module) {
  filter_.EndModule(module.call.Name(Direction::kBackward));
}

bool Collector::AdmitGradients(const std::string& record_name, const ModuleCall& module) {
  const bool in_scope = module.admits_backward ? module.backward_in_scope : filter_.in_scope();
  return data_mode().backward && data_mode().output && filter_.AdmitAsPartOf(record_name, in_scope);
}

void Collector::AbandonCall(const Call& call, const Record& begun) {
  counter_.GiveBack(call.subject, call.number);
  if (writer_ && saves_tensors()) {
    std::vector<std::string> names;
    ForEachTensorElement(begun, [&](const TensorElement& tensor) {
      if (!tensor.data_name.empty()) {
        names.push_back(tensor.data_name);
      }
    });
    if (overflow_) {
      overflow_->Forget(names, *writer_);
    } else {
      writer_->RemoveTensors(names);
    }
  }
}

void Collector::LeaveToParent() {
  collecting_ = false;
  if (writer_) {
    StepWriter::LeaveToParent(std::move(writer_));
    late_ = nullptr;
    held_.Clear();
  }
}

bool Collector::AdmitBackward(const Call& call, ModuleCall* parent) {
  if (parent != nullptr) {
    BeginModuleBackward(*parent);
  }
  return filter_.Admit(call.Name(Direction::kBackward)) && data_mode().backward;
}

void Collector::Describe(TensorElement& tensor, const TensorView& view, std::string_view data_name,
                         std::uint64_t zeros) {
  SetStatistics(tensor, WithZeros(ComputeStatistics(view), view, zeros), framework_);
  if (settings_.summary_mode == SummaryMode::kMd5) {
    const std::array<char, 8> text = ChecksumText(TensorChecksum(view));
    tensor.md5.assign(text.data(), text.size());
  }
  if (!data_name.empty() && writer_) {
    std::string file = TensorFileName(data_name, framework_ == Framework::kPyTorch ? ".pt" : ".npy");
    if (overflow_ ? overflow_->Hold(file, view, *writer_) : writer_->SaveTensor(file, view)) {
      tensor.data_name = std::move(file);
    }
  }
}

void Collector::SaveContent(TensorElement& tensor, std::string_view content, std::string_view data_name) {
  if (data_name.empty() || !writer_ || overflow_) {
    return;
  }
  std::string file = TensorFileName(data_name, ".npy");
  if (writer_->SaveContent(file, content)) {
    tensor.data_name = std::move(file);
  }
}

void Collector::Submit(FinishedRecord record) {
  if (!writer_) {
    return;
  }
  if (late_ == nullptr) {
    Write(std::move(record));
  } else {
    held_.Add(std::move(record), *late_);
  }
}

void Collector::Write(FinishedRecord record) {
  if (!writer_ || (overflow_ && !overflow_->Keep(record.record, *writer_))) {
    return;
  }
  if (record.make_tree) {
    record.tree = record.make_tree(record.record.name);
  }
  writer_->Add(std::move(record));
  if (finished()) {
    collecting_ = false;
  }
}

template <typename MakeTree>
void Collector::SubmitInTree(Record record, std::string_view stack, MakeTree make_tree) {
  if (!writer_) {
    return;
  }
  FinishedRecord finished{std::move(record), std::string(stack), {}};
  if (settings_.extra_info && overflow_) {
    finished.make_tree = std::move(make_tree);
  } else if (settings_.extra_info) {
    finished.tree = make_tree(finished.record.name);
  }
  Submit(std::move(finished));
}

void Collector::Add(Record record, std::string_view stack) { Submit({std::move(record), std::string(stack), {}}); }

void Collector::Add(Record record, std::string_view stack, const TreePlace& place, Direction direction) {
  if (!has_modules()) {
    Add(std::move(record), stack);
    return;
  }
  SubmitInTree(std::move(record), stack,
               [this, place, direction](const std::string& name) { return EntriesOf(name, place, direction); });
}

void Collector::AddModule(Record record, std::string_view stack, const std::shared_ptr<ModuleCall>& module,
                          Direction direction) {
  SubmitInTree(std::move(record), stack,
               [this, module, direction](const std::string& /*name*/) { return EntriesUpTo(module.get(), direction); });
}

std::vector<TreeEntry> Collector::EntriesOf(const std::string& name, const TreePlace& place, Direction direction) {
  std::vector<TreeEntry> entries = EntriesUpTo(place.parent.get(), direction);
  const std::string parent = place.parent ? place.parent->call.Name(direction) : std::string(place.root);
  if (!place.parent && !parent.empty() && named_roots_.insert(parent).second) {
    entries.push_back(Entry(parent, {}));
  }
  entries.push_back(Entry(name, parent));
  return entries;
}

Collector::SavedNames Collector::NameSavedValue(const std::string& name) {
  const std::string suffix = "." + Decimal(saved_counts_[name]++) + ".debug";
  return {name + suffix, name + "_grad" + suffix};
}

void Collector::AddSavedValue(std::string full_name, Element value) {
  FinishedRecord saved;
  saved.record.name = std::move(full_name);
  saved.record.sections.push_back(Member{"value", std::move(value)});
  saved.is_saved_value = true;
  Submit(std::move(saved));
}

std::vector<TreeEntry> Collector::EntriesUpTo(ModuleCall* module, Direction direction) {
  std::vector<TreeEntry> entries;
  const auto side = static_cast<std::size_t>(direction);
  while (module != nullptr && !module->in_tree[side]) {
    module->in_tree[side] = true;
    ModuleCall* parent = module->parent.get();
    if (direction == Direction::kBackward) {
      while (parent != nullptr && !parent->has_backward) {
        parent = parent->parent.get();
      }
    }
    entries.push_back(Entry(module->call.Name(direction), parent == nullptr ? "" : parent->call.Name(direction)));
    module = parent;
  }
  std::reverse(entries.begin(), entries.end());  // outer ones first
  return entries;
}

TreeEntry Collector::Entry(std::string name, const std::string& parent) const {
  std::string value = "null";
  if (!parent.empty()) {
    value.clear();
    AppendJsonString(value, parent);
  }
  if (micro_step_) {  // the form of pipelines (mindspore_dump.md 4.5)
    value = "[" + value + ", " + std::to_string(*micro_step_) + "]";
  }
  return {std::move(name), std::move(value)};
}

std::string TensorFileName(std::string_view stem, std::string_view extension) {
  constexpr std::size_t kLimit = 255;
  std::string name(stem);
  bool replaced = false;
  for (char& c : name) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
    if (!plain) {
      c = '_';
      replaced = true;
    }
  }
  if (replaced || name.size() + extension.size() > kLimit) {
    const std::array<char, 8> hash = ChecksumText(Crc32(0, stem.data(), stem.size()));
    name.resize(std::min(name.size(), kLimit - extension.size() - hash.size() - 1));
    name.append(1, '-').append(hash.data(), hash.size());
  }
  return name.append(extension);
}

}  // namespace msprobe
