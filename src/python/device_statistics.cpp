#include "python/device_statistics.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "numerics/reductions.h"

namespace msprobe {
namespace {

/// An exception that must reach the training, raised by the interpreter as soon as it is back in the program.
struct Interrupt {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;

  static int Raise(void* data) {
    const std::unique_ptr<Interrupt> interrupt(static_cast<Interrupt*>(data));
    PyErr_Restore(interrupt->type, interrupt->value, interrupt->traceback);
    return -1;
  }
  /// Takes over the pending exception.
  static std::unique_ptr<Interrupt> Take() {
    auto interrupt = std::make_unique<Interrupt>();
    PyErr_Fetch(&interrupt->type, &interrupt->value, &interrupt->traceback);
    return interrupt;
  }
  static void Postpone(std::unique_ptr<Interrupt> interrupt) {
    if (interrupt && Py_AddPendingCall(Raise, interrupt.get()) == 0) {
      interrupt.release();
    }
  }
};

StatisticValue ValueOf(PyObject* number) {
  if (PyBool_Check(number)) {
    return number == Py_True;
  }
  if (PyLong_Check(number)) {
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (overflow == 0) {
      return static_cast<std::int64_t>(value);
    }
    return static_cast<std::uint64_t>(PyLong_AsUnsignedLongLongMask(number));
  }
  return PyFloat_AsDouble(number);
}

/// From (kind, element count, [numbers]) as device_stats.fetch gives them.
Statistics StatisticsFrom(PyObject* result) {
  PyObject* kind_text = PyTuple_GetItem(result, 0);
  PyObject* numbers = PyTuple_GetItem(result, 2);
  if (kind_text == nullptr || numbers == nullptr || !PyList_Check(numbers)) {
    PyErr_SetString(PyExc_TypeError, "device statistics have an unexpected form");
    throw PythonError{};
  }
  const char* kind_name = PyUnicode_AsUTF8(kind_text);
  const std::string_view kind = kind_name == nullptr ? "" : kind_name;
  const std::uint64_t count = PyLong_AsUnsignedLongLongMask(PyTuple_GetItem(result, 1));
  const Py_ssize_t size = PyList_GET_SIZE(numbers);
  const auto number = [&](Py_ssize_t i) { return ValueOf(PyList_GET_ITEM(numbers, i)); };
  const auto real = [&](Py_ssize_t i) { return PyFloat_AsDouble(PyList_GET_ITEM(numbers, i)); };
  if (kind == "bool" && size == 2) {
    return StatisticsOfBools(number(0) == StatisticValue(true), number(1) == StatisticValue(true), count);
  }
  if (kind == "value" && size == 1) {
    return StatisticsOfValue(number(0));
  }
  if (kind == "integer" && size == 4) {
    return StatisticsOf(number(0), number(1), real(2), real(3), count);
  }
  if (kind == "floating" && (size == 8 || size == 11)) {
    FloatingReductions reductions{real(0), real(1), real(2), real(3), real(4), real(5), real(6), real(7), {}};
    if (size == 11) {
      reductions.scaled = FloatingReductions::Scaled{real(8), real(9), real(10)};
    }
    return StatisticsOf(reductions, count);
  }
  PyErr_SetString(PyExc_TypeError, "device statistics are of an unknown kind");
  throw PythonError{};
}

}  // namespace

PyObject* DeviceStatistics::starter() {
  if (!starter_) {
    starter_ = framework_.MakeDeviceStatistics();
  }
  return starter_.get();
}

void DeviceStatistics::Await(PyObject* begun, TensorElement& tensor) {
  auto result = std::make_shared<std::optional<Statistics>>();
  tensor.late = result;
  waiting_.push_back({Object::Borrow(begun), std::move(result)});
}

void DeviceStatistics::Tell(PyObject* text) {
  if (PyUnicode_Check(text) && PyUnicode_GET_LENGTH(text) > 0) {
    PyErr_SetObject(PyExc_RuntimeError, text);
    on_failure_();
  }
}

bool DeviceStatistics::Fetch() {
  std::vector<Waiting> waiting;
  waiting.swap(waiting_);  // the read lets other threads run, which may add more
  const FrameworkAccess::Quiet quiet(framework_);
  std::unique_ptr<Interrupt> interrupt;
  bool done = false;
  for (int attempt = 0; attempt < 2 && !done; ++attempt) {  // the numbers are still there after an interrupt
    try {
      if (!Read(waiting)) {
        std::swap(waiting, waiting_);
        std::move(waiting.begin(), waiting.end(), std::back_inserter(waiting_));
        Interrupt::Postpone(std::move(interrupt));
        return false;
      }
      done = true;
    } catch (const PythonError&) {
      if (IsInterrupt()) {
        interrupt = Interrupt::Take();
      } else {
        on_failure_();
        done = true;
      }
    }
  }
  for (const Waiting& each : waiting) {
    if (!*each.result) {
      each.result->emplace();
    }
  }
  Interrupt::Postpone(std::move(interrupt));
  return true;
}

bool DeviceStatistics::Read(const std::vector<Waiting>& waiting) {
  Object begun = Checked(PyList_New(static_cast<Py_ssize_t>(waiting.size())));
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    PyList_SET_ITEM(begun.get(), static_cast<Py_ssize_t>(i), Object(waiting[i].begun).Release());
  }
  Object answer = Checked(PyObject_CallMethod(starter(), "fetch", "O", begun.get()));
  if (answer.get() == Py_None) {
    return false;
  }
  PyObject* results = PyTuple_GetItem(answer.get(), 0);
  PyObject* reasons = PyTuple_GetItem(answer.get(), 1);
  if (results == nullptr || reasons == nullptr || PyList_GET_SIZE(results) != PyList_GET_SIZE(begun.get())) {
    PyErr_SetString(PyExc_TypeError, "device statistics have an unexpected form");
    throw PythonError{};
  }
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    PyObject* result = PyList_GET_ITEM(results, static_cast<Py_ssize_t>(i));
    *waiting[i].result = result == Py_None ? Statistics() : StatisticsFrom(result);
  }
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(reasons); ++i) {
    Tell(PyList_GET_ITEM(reasons, i));
  }
  return true;
}

}  // namespace msprobe
