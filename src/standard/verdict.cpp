#include "standard/verdict.h"

#include "base/csv.h"
#include "base/text.h"

namespace msprobe {

std::string_view VerdictWord(Verdict verdict) {
  switch (verdict) {
    case Verdict::kSkip:
      return "SKIP";
    case Verdict::kPass:
      return "pass";
    case Verdict::kWarning:
      return "warning";
    case Verdict::kError:
      return "error";
    case Verdict::kBlank:
      break;
  }
  return kBlankCell;
}

Verdict ParseVerdict(std::string_view text) {
  const std::string word = ToLowerAscii(Trim(text.substr(0, 32)));
  if (word == "error") return Verdict::kError;
  if (word == "warning") return Verdict::kWarning;
  if (word == "pass") return Verdict::kPass;
  if (word == "skip") return Verdict::kSkip;
  return Verdict::kBlank;
}

}  // namespace msprobe
