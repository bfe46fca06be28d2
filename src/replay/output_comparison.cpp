#include "replay/output_comparison.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "base/text.h"
#include "replay/tensor_verdict.h"

namespace msprobe {

const char* BuiltinTypeText(OutputValue::Kind kind) {
  switch (kind) {
    case OutputValue::Kind::kBool:
      return "<class 'bool'>";
    case OutputValue::Kind::kInteger:
      return "<class 'int'>";
    case OutputValue::Kind::kFloat:
      return "<class 'float'>";
    case OutputValue::Kind::kString:
      return "<class 'str'>";
    default:
      return "";
  }
}

namespace {

using Kind = OutputValue::Kind;

std::string KindName(const OutputValue& value) {
  switch (value.kind) {
    case Kind::kNone:
      return "None";
    case Kind::kTensor:
      return "a tensor";
    case Kind::kBool:
      return "a bool";
    case Kind::kInteger:
      return "an int";
    case Kind::kFloat:
      return "a float";
    case Kind::kString:
      return "a str";
    case Kind::kSequence:
      return "a sequence of " + std::to_string(value.items.size());
    case Kind::kMapping:
      return "a dict of " + std::to_string(value.items.size());
    case Kind::kOther:
      return "an object of type " + Excerpt(value.text, 60);
  }
  return "?";
}

class OutputComparison {
 public:
  OutputComparison(std::string_view api, Treatment treatment) : api_(api), treatment_(treatment) {}

  void Compare(const OutputValue& bench, const OutputValue& device) {
    if (bench.kind == Kind::kSequence && device.kind == Kind::kSequence) return CompareSequences(bench, device);
    if (bench.kind == Kind::kMapping && device.kind == Kind::kMapping) return CompareMappings(bench, device);
    if (bench.kind == Kind::kTensor && device.kind == Kind::kTensor) return CompareTensors(bench.tensor, device.tensor);
    if (bench.kind == Kind::kNone && device.kind == Kind::kNone) return Add(Verdict::kSkip, "the output is None");
    // A bool counts as an int, as it does for Python.
    const bool builtins =
        IsBuiltin(bench) && (bench.kind == device.kind || (bench.kind == Kind::kBool && device.kind == Kind::kInteger));
    if (builtins) return CompareBuiltins(bench, device);
    if (bench.kind == Kind::kOther && device.kind == Kind::kOther && bench.text == device.text) {
      return Add(Verdict::kSkip, "outputs of type " + Excerpt(bench.text, 60) + " are not compared");
    }
    Add(Verdict::kError, "the outputs differ in type: bench " + KindName(bench) + ", device " + KindName(device));
  }

  std::vector<DetailsRow> TakeRows() { return std::move(rows_); }

 private:
  static bool IsBuiltin(const OutputValue& value) { return *BuiltinTypeText(value.kind) != '\0'; }

  void Add(Verdict verdict, std::string message) {
    DetailsRow row;
    row.verdict = verdict;
    row.message = std::move(message);
    Add(std::move(row));
  }

  void Add(DetailsRow row) {
    if (!key_.empty()) row.message = "key " + key_ + (row.message.empty() ? "" : ": " + row.message);
    rows_.push_back(std::move(row));
  }

  void CompareSequences(const OutputValue& bench, const OutputValue& device) {
    if (bench.items.size() != device.items.size()) {
      return Add(Verdict::kError, "the number of outputs differs: bench " + std::to_string(bench.items.size()) +
                                      ", device " + std::to_string(device.items.size()));
    }
    for (std::size_t i = 0; i < bench.items.size(); ++i) Compare(bench.items[i], device.items[i]);
  }

  void CompareMappings(const OutputValue& bench, const OutputValue& device) {
    auto bench_keys = bench.keys;
    auto device_keys = device.keys;
    std::sort(bench_keys.begin(), bench_keys.end());
    std::sort(device_keys.begin(), device_keys.end());
    if (bench_keys != device_keys) return Add(Verdict::kError, "the keys of the output differ");
    const std::string outer = key_;
    for (std::size_t i = 0; i < bench.items.size(); ++i) {
      const auto found = std::find(device.keys.begin(), device.keys.end(), bench.keys[i]);
      key_ = (outer.empty() ? "" : outer + ".") + Excerpt(bench.keys[i], 60);
      Compare(bench.items[i], device.items[static_cast<std::size_t>(found - device.keys.begin())]);
    }
    key_ = outer;
  }

  void CompareTensors(const HostTensor& bench, const HostTensor& device) {
    switch (treatment_) {
      case Treatment::kValues:
        return Add(JudgeTensors(api_, bench, device));
      case Treatment::kDropout:
        return Add(JudgeDropout(bench, device));
      case Treatment::kRandom:
      case Treatment::kUninitialised:
        return Add(JudgeByShape(treatment_, bench, device));
    }
  }

  void CompareBuiltins(const OutputValue& bench, const OutputValue& device) {
    DetailsRow row;
    row.bench_dtype = BuiltinTypeText(bench.kind);
    row.device_dtype = BuiltinTypeText(device.kind);
    const bool by_value = treatment_ == Treatment::kValues || treatment_ == Treatment::kDropout;
    row.builtins_equal = Equal(bench, device);
    row.verdict = row.builtins_equal || !by_value ? Verdict::kPass : Verdict::kError;
    if (row.verdict == Verdict::kError) {
      row.message = "the values differ: bench " + ValueText(bench) + ", device " + ValueText(device);
    }
    Add(std::move(row));
  }

  static bool Equal(const OutputValue& bench, const OutputValue& device) {
    switch (bench.kind) {
      case Kind::kBool:
        if (device.kind == Kind::kInteger) return device.text == (bench.boolean ? "1" : "0");
        return bench.boolean == device.boolean;
      case Kind::kFloat:
        return bench.number == device.number || (std::isnan(bench.number) && std::isnan(device.number));
      default:
        return bench.text == device.text;
    }
  }

  static std::string ValueText(const OutputValue& value) {
    if (value.kind == Kind::kBool) return value.boolean ? "True" : "False";
    if (value.kind == Kind::kFloat) return FixedText(value.number, 14);
    return Excerpt(value.text, 60);
  }

  std::string_view api_;
  Treatment treatment_;
  std::string key_;  // of the dict entry being compared
  std::vector<DetailsRow> rows_;
};

}  // namespace

std::vector<DetailsRow> CompareOutputs(std::string_view api, Treatment treatment, const OutputValue& bench,
                                       const OutputValue& device) {
  OutputComparison comparison(api, treatment);
  comparison.Compare(bench, device);
  return comparison.TakeRows();
}

Verdict Aggregate(const std::vector<DetailsRow>& rows) {
  Verdict worst = Verdict::kSkip;
  for (const DetailsRow& row : rows) worst = std::max(worst, row.verdict);
  return worst;
}

}  // namespace msprobe
