#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace msprobe {

/// Number of cells of a details row and headings of both files (accuracy_checker.md 11.2).
inline constexpr std::size_t kDetailsColumns = 23;
std::span<const std::string> ResultHeader();
std::span<const std::string> DetailsHeader();

/// Everything the two CSV files say about one API, as finished cells.
struct CaseRows {
  std::string name;      ///< full name, "Functional.linear.0"
  std::string forward;   ///< pass, warning, error, SKIP
  std::string backward;  ///< the same or one blank
  std::string message;
  std::vector<std::vector<std::string>> details;  ///< rows of kDetailsColumns cells
};

/// The rows of an API that is not run: SKIP in both directions, one details row with the reason.
CaseRows SkipRows(const std::string& name, const std::string& reason);

/// The rows of an API whose worker did not answer: error in forward; backward, of which nothing is known, SKIP where
/// the dump has it.
CaseRows ErrorRows(const std::string& name, bool has_backward, const std::string& reason);

/// How one API ended, for counting: error over warning over SKIP of the forward over pass.
enum class Outcome : std::uint8_t { kPass, kWarning, kError, kSkip };
Outcome OutcomeOf(std::string_view forward, std::string_view backward);

}  // namespace msprobe
