#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace msprobe {

/// What went wrong, as far as the caller must tell cases apart. The command line maps it to an exit code
/// (spec decisions 21), the Python edge to an exception class.
enum class ErrorCode : std::uint8_t {
  kUsage,        ///< The command line or a call was used wrongly (exit code 2).
  kInput,        ///< An input file or value cannot be used (exit code 1).
  kOutput,       ///< An output cannot be written (exit code 1).
  kDevice,       ///< A device or a framework cannot be used (exit code 1).
  kPermission,   ///< A file may not be read or written (exit code 1).
  kUnsupported,  ///< The request is understood but not supported here.
  kInternal,     ///< A fault of the tool itself.
};

/// One clear line: what is wrong, where, and what to do.
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
};

/// The value of a finished computation, or the reason there is none. The core throws nothing across its interface.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit by design
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit by design

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  /// Only to be called when ok().
  T& value() { return std::get<0>(state_); }
  const T& value() const { return std::get<0>(state_); }
  T& operator*() { return value(); }
  const T& operator*() const { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  /// Only to be called when not ok().
  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

/// A Result without a value.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}  // NOLINT: implicit by design

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

}  // namespace msprobe
