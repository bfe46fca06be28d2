#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace msprobe {

/// The stack machine of Python's pickle format, protocols 2 to 5, reduced to the opcodes that torch writes for a
/// tensor. It executes nothing: what a global, a persistent id and a call mean is the derived class's, by their names
/// only.
class PickleMachine {
 public:
  /// Runs up to STOP, or returns false with `problem()`.
  bool Run();
  const std::string& problem() const { return problem_; }

 protected:
  enum class Kind : std::uint8_t {
    kNone,
    kBool,
    kInteger,
    kText,
    kTuple,
    kDict,    ///< its items are dropped
    kList,    ///< its items are dropped
    kGlobal,  ///< a name
    kCustom,  ///< an object of the derived class
  };

  /// A value of the pickle. Values refer to one another by index, so nothing nests in memory.
  struct Value {
    Kind kind = Kind::kNone;
    std::int64_t integer = 0;  ///< kInteger, kBool; kDict: 1 if an item's value is True; kCustom: free
    std::string text;          ///< kText; kGlobal: name; kCustom: free
    std::string module;        ///< kGlobal
    std::size_t first = 0;     ///< kTuple: range of its items
    std::size_t count = 0;
  };

  explicit PickleMachine(std::string_view pickle) : pickle_(pickle) {}
  virtual ~PickleMachine() = default;

  /// Whether a name may occur; it fails with a problem if not.
  virtual bool AllowGlobal(const Value& global) = 0;
  /// Makes the object of a persistent id, or fails.
  virtual bool MakePersistent(const Value& id, Value& out) = 0;
  /// Makes the result of calling a global with a tuple of arguments, or fails.
  virtual bool Call(const Value& function, const Value& arguments, Value& out) = 0;
  /// Takes the one value that is left at the end, or fails.
  virtual bool Finish(const Value& value) = 0;

  bool Fail(std::string problem);
  const Value& Item(const Value& tuple, std::size_t i) const { return values_[items_[tuple.first + i]]; }

 private:
  using Index = std::size_t;

  bool Step();
  bool Take(std::uint64_t size, std::string_view& out);
  bool TakeNumber(int bytes, std::uint64_t& out);
  bool TakeLine(std::string_view& out);

  bool Push(Value value);
  bool Push(Kind kind, std::int64_t integer = 0);
  bool PushInteger(int bytes);
  bool PushLong();
  bool PushText(int size_bytes);
  bool PushGlobal(std::string_view module, std::string_view name);
  bool PushNamedGlobal();
  bool PushPersistent();
  bool PushCall();

  /// How many values lie above the innermost mark: only these may be taken.
  std::size_t Available() const { return stack_.size() - (marks_.empty() ? 0 : marks_.back()); }
  bool Missing() { return Fail("its pickle takes what is not there"); }
  bool Pop(Index& out);
  bool PopMark(std::size_t& count);
  bool MakeTuple(std::size_t count);
  bool SetItems(std::size_t count);
  bool AddItems(std::size_t count);
  bool Remember(std::uint64_t key);
  bool Recall(int bytes);
  bool Stop();

  std::string_view pickle_;
  std::size_t next_ = 0;
  std::vector<Value> values_;
  std::vector<Index> items_;  // of tuples
  std::vector<Index> stack_;
  std::vector<std::size_t> marks_;  // sizes of the stack, never above its size
  std::unordered_map<std::uint64_t, Index> memo_;
  std::string problem_;
  bool finished_ = false;
};

}  // namespace msprobe
