#include "record/pickle_machine.h"

#include <utility>

namespace msprobe {

bool PickleMachine::Run() {
  while (!finished_) {
    if (!Step()) return false;
  }
  return true;
}

bool PickleMachine::Fail(std::string problem) {
  problem_ = std::move(problem);
  return false;
}

bool PickleMachine::Take(std::uint64_t size, std::string_view& out) {
  if (size > pickle_.size() - next_) return Fail("its pickle is cut short");
  out = pickle_.substr(next_, size);
  next_ += size;
  return true;
}

/// Little-endian, `bytes` up to 8.
bool PickleMachine::TakeNumber(int bytes, std::uint64_t& out) {
  std::string_view raw;
  if (!Take(static_cast<std::uint64_t>(bytes), raw)) return false;
  out = 0;
  for (std::size_t i = raw.size(); i-- > 0;) out = (out << 8U) | static_cast<unsigned char>(raw[i]);
  return true;
}

bool PickleMachine::TakeLine(std::string_view& out) {
  const std::size_t end = pickle_.find('\n', next_);
  if (end == std::string_view::npos) return Fail("its pickle is cut short");
  out = pickle_.substr(next_, end - next_);
  next_ = end + 1;
  return true;
}

bool PickleMachine::Push(Value value) {
  values_.push_back(std::move(value));
  stack_.push_back(values_.size() - 1);
  return true;
}

bool PickleMachine::Push(Kind kind, std::int64_t integer) {
  Value value;
  value.kind = kind;
  value.integer = integer;
  return Push(std::move(value));
}

bool PickleMachine::PushInteger(int bytes) {
  std::uint64_t number = 0;
  if (!TakeNumber(bytes, number)) return false;
  // Only the four-byte form has a sign.
  return Push(Kind::kInteger, bytes == 4 ? static_cast<std::int32_t>(number) : static_cast<std::int64_t>(number));
}

/// Two's complement of as many bytes as the first one says.
bool PickleMachine::PushLong() {
  std::uint64_t size = 0;
  std::uint64_t value = 0;
  if (!TakeNumber(1, size)) return false;
  if (size > 8) return Fail("its pickle holds an integer of more than 64 bits");
  if (!TakeNumber(static_cast<int>(size), value)) return false;
  if (size > 0 && size < 8 && (value >> (8 * size - 1)) != 0) value |= ~std::uint64_t{0} << (8 * size);
  return Push(Kind::kInteger, static_cast<std::int64_t>(value));
}

bool PickleMachine::PushText(int size_bytes) {
  std::uint64_t size = 0;
  std::string_view text;
  if (!TakeNumber(size_bytes, size) || !Take(size, text)) return false;
  Value value;
  value.kind = Kind::kText;
  value.text = text;
  return Push(std::move(value));
}

bool PickleMachine::PushGlobal(std::string_view module, std::string_view name) {
  Value value;
  value.kind = Kind::kGlobal;
  value.module = module;
  value.text = name;
  return AllowGlobal(value) && Push(std::move(value));
}

bool PickleMachine::PushNamedGlobal() {
  Index name = 0;
  Index module = 0;
  if (!Pop(name) || !Pop(module)) return false;
  if (values_[name].kind != Kind::kText || values_[module].kind != Kind::kText) {
    return Fail("its pickle names a global in an unknown way");
  }
  return PushGlobal(values_[module].text, values_[name].text);
}

bool PickleMachine::PushPersistent() {
  Index id = 0;
  Value out;
  return Pop(id) && MakePersistent(values_[id], out) && Push(std::move(out));
}

bool PickleMachine::PushCall() {
  Index arguments = 0;
  Index function = 0;
  if (!Pop(arguments) || !Pop(function)) return false;
  if (values_[function].kind != Kind::kGlobal || values_[arguments].kind != Kind::kTuple) {
    return Fail("its pickle calls something in an unknown way");
  }
  Value out;
  return Call(values_[function], values_[arguments], out) && Push(std::move(out));
}

bool PickleMachine::Pop(Index& out) {
  if (Available() == 0) return Missing();
  out = stack_.back();
  stack_.pop_back();
  return true;
}

bool PickleMachine::PopMark(std::size_t& count) {
  if (marks_.empty()) return Missing();
  count = Available();
  marks_.pop_back();
  return true;
}

/// Replaces the topmost `count` values by a tuple of them.
bool PickleMachine::MakeTuple(std::size_t count) {
  if (count > Available()) return Missing();
  Value tuple;
  tuple.kind = Kind::kTuple;
  tuple.first = items_.size();
  tuple.count = count;
  items_.insert(items_.end(), stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
  stack_.resize(stack_.size() - count);
  return Push(std::move(tuple));
}

/// Takes `count` keys and values that lie above a dict; of them only whether a value is True is kept.
bool PickleMachine::SetItems(std::size_t count) {
  if (count % 2 != 0 || count >= Available()) return Missing();
  bool any = false;
  for (std::size_t i = stack_.size() - count + 1; i < stack_.size(); i += 2) {
    const Value& value = values_[stack_[i]];
    any = any || (value.kind == Kind::kBool && value.integer != 0);
  }
  stack_.resize(stack_.size() - count);
  Value& dict = values_[stack_.back()];
  if (dict.kind != Kind::kDict) return Fail("its pickle fills something in an unknown way");
  if (any) dict.integer = 1;
  return true;
}

/// Drops `count` values that lie above a list.
bool PickleMachine::AddItems(std::size_t count) {
  if (count >= Available()) return Missing();
  stack_.resize(stack_.size() - count);
  return values_[stack_.back()].kind == Kind::kList || Fail("its pickle fills something in an unknown way");
}

bool PickleMachine::Remember(std::uint64_t key) {
  if (stack_.empty()) return Missing();
  memo_[key] = stack_.back();
  return true;
}

bool PickleMachine::Recall(int bytes) {
  std::uint64_t key = 0;
  if (!TakeNumber(bytes, key)) return false;
  const auto found = memo_.find(key);
  if (found == memo_.end()) return Missing();
  stack_.push_back(found->second);
  return true;
}

bool PickleMachine::Stop() {
  if (stack_.size() != 1 || !marks_.empty()) return Fail("its pickle leaves more or less than one value");
  finished_ = true;
  return Finish(values_[stack_.back()]);
}

bool PickleMachine::Step() {
  std::string_view code;
  std::string_view module;
  std::string_view name;
  std::uint64_t number = 0;
  std::size_t count = 0;
  if (!Take(1, code)) return false;
  switch (static_cast<unsigned char>(code.front())) {
    case 0x80:  // PROTO
      if (!TakeNumber(1, number)) return false;
      return (number >= 2 && number <= 5) || Fail("its pickle has an unknown protocol");
    case 0x95:  // FRAME
      return TakeNumber(8, number);
    case 'c':  // GLOBAL
      return TakeLine(module) && TakeLine(name) && PushGlobal(module, name);
    case 0x93:  // STACK_GLOBAL
      return PushNamedGlobal();
    case 'q':  // BINPUT
      return TakeNumber(1, number) && Remember(number);
    case 'r':  // LONG_BINPUT
      return TakeNumber(4, number) && Remember(number);
    case 0x94:  // MEMOIZE
      return Remember(memo_.size());
    case 'h':  // BINGET
      return Recall(1);
    case 'j':  // LONG_BINGET
      return Recall(4);
    case '(':  // MARK
      marks_.push_back(stack_.size());
      return true;
    case 't':  // TUPLE
      return PopMark(count) && MakeTuple(count);
    case ')':  // EMPTY_TUPLE
      return MakeTuple(0);
    case 0x85:  // TUPLE1
      return MakeTuple(1);
    case 0x86:  // TUPLE2
      return MakeTuple(2);
    case 0x87:  // TUPLE3
      return MakeTuple(3);
    case 'X':  // BINUNICODE
      return PushText(4);
    case 0x8C:  // SHORT_BINUNICODE
      return PushText(1);
    case 'K':  // BININT1
      return PushInteger(1);
    case 'M':  // BININT2
      return PushInteger(2);
    case 'J':  // BININT
      return PushInteger(4);
    case 0x8A:  // LONG1
      return PushLong();
    case 'N':  // NONE
      return Push(Kind::kNone);
    case 0x88:  // NEWTRUE
      return Push(Kind::kBool, 1);
    case 0x89:  // NEWFALSE
      return Push(Kind::kBool, 0);
    case '}':  // EMPTY_DICT
      return Push(Kind::kDict);
    case 's':  // SETITEM
      return SetItems(2);
    case 'u':  // SETITEMS
      return PopMark(count) && SetItems(count);
    case ']':  // EMPTY_LIST
      return Push(Kind::kList);
    case 'a':  // APPEND
      return AddItems(1);
    case 'e':  // APPENDS
      return PopMark(count) && AddItems(count);
    case 'Q':  // BINPERSID
      return PushPersistent();
    case 'R':  // REDUCE
      return PushCall();
    case '.':  // STOP
      return Stop();
    default:
      return Fail("its pickle has at byte " + std::to_string(next_ - 1) + " an opcode that no plain tensor needs");
  }
}

}  // namespace msprobe
