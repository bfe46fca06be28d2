#include "collect/collector.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "numerics/checksum.h"
#include "numerics/statistics.h"

namespace msprobe {
namespace {

bool IsNonFinite(const StatisticValue& value) {
  const double* number = std::get_if<double>(&value);
  return number != nullptr && !std::isfinite(*number);
}

void CollectDataNames(const Element& element, std::vector<std::string>& names) {
  if (const TensorElement* tensor = element.tensor(); tensor != nullptr && !tensor->data_name.empty()) {
    names.push_back(tensor->data_name);
  } else if (const ElementList* list = element.list()) {
    for (const Element& part : *list) {
      CollectDataNames(part, names);
    }
  } else if (const ElementObject* object = element.object()) {
    for (const Member& member : *object) {
      CollectDataNames(member.value, names);
    }
  }
}

}  // namespace

Collector::Collector(DumpSettings settings, Framework framework)
    : settings_(std::move(settings)), framework_(framework), filter_(settings_) {}

bool Collector::StepSelected() const {
  return settings_.steps.empty() || std::binary_search(settings_.steps.begin(), settings_.steps.end(), step_);
}

bool Collector::StepsExhausted() const { return !settings_.steps.empty() && step_ > settings_.steps.back(); }

bool Collector::RankSelected(std::optional<std::int64_t> rank) const {
  return settings_.ranks.empty() ||
         std::binary_search(settings_.ranks.begin(), settings_.ranks.end(), rank.value_or(0));
}

Status Collector::Start(std::optional<std::int64_t> rank, ElementObject header_extra) {
  if (!writer_) {
    auto writer = StepWriter::Create(settings_, framework_, step_, rank, std::move(header_extra));
    if (!writer) {
      return writer.error();
    }
    writer_ = std::move(*writer);
  }
  collecting_ = true;
  return {};
}

Status Collector::Flush() { return writer_ ? writer_->Flush() : Status(); }

Status Collector::EndStep() {
  collecting_ = false;
  Status flushed = Flush();
  writer_.reset();
  counter_.Reset();
  filter_.Reset();
  ++step_;
  return flushed;
}

ApiCall Collector::BeginCall(std::size_t api) {
  ApiCall call;
  call.api = api;
  call.number = counter_.Take(api);
  std::array<char, 24> digits;  // NOLINT: filled below
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), call.number).ptr;
  const std::string& full_name = counter_.name(api);
  call.name.reserve(full_name.size() + 32);
  call.name.append(full_name).append(1, '.').append(digits.data(), end);
  const std::size_t stem = call.name.size();
  call.name += ".forward";
  call.keeps_forward = filter_.Admit(call.name) && data_mode().forward;
  call.name.resize(stem);
  return call;
}

void Collector::AbandonCall(const ApiCall& call, const Record& begun) {
  counter_.GiveBack(call.api, call.number);
  if (writer_ && saves_tensors()) {
    std::vector<std::string> names;
    for (const Member& section : begun.sections) {
      CollectDataNames(section.value, names);
    }
    writer_->RemoveTensors(names);
  }
}

void Collector::LeaveToParent() {
  collecting_ = false;
  if (writer_) {
    writer_->LeaveToParent();
    writer_.reset();
  }
}

bool Collector::AdmitBackward(const ApiCall& call) {
  return filter_.Admit(call.name + ".backward") && data_mode().backward;
}

void Collector::Describe(TensorElement& tensor, const TensorView& view, std::string_view data_name) {
  const Statistics statistics = ComputeStatistics(view);
  tensor.max = statistics.max;
  tensor.min = statistics.min;
  tensor.mean = statistics.mean;
  tensor.norm = statistics.norm;
  if (framework_ == Framework::kPyTorch) {
    if (IsNonFinite(statistics.max)) {
      tensor.finite_max = statistics.finite_max;
    }
    if (IsNonFinite(statistics.min)) {
      tensor.finite_min = statistics.finite_min;
    }
  }
  if (settings_.summary_mode == SummaryMode::kMd5) {
    const std::array<char, 8> text = ChecksumText(TensorChecksum(view));
    tensor.md5.assign(text.data(), text.size());
  }
  if (!data_name.empty() && writer_) {
    std::string file = TensorFileName(data_name, framework_ == Framework::kPyTorch ? ".pt" : ".npy");
    if (writer_->SaveTensor(file, view)) {
      tensor.data_name = std::move(file);
    }
  }
}

void Collector::Add(const Record& record, std::string_view stack) {
  if (writer_) {
    writer_->Add(record, stack);
  }
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
