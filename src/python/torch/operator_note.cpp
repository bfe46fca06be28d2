#include "python/torch/operator_note.h"

#include <cstddef>
#include <string_view>

#include "python/method_stand_in.h"

namespace msprobe {
namespace {

/// What an operator leaves: its API and what it was called with, to be compared only.
struct Note {
  int index = -1;
  PyObject* subject = nullptr;
  Py_ssize_t count = 0;
};

thread_local Note current_note;

struct OperatorNote {
  MethodStandIn base;
  int index;
};

PyTypeObject* operator_note_type = nullptr;

PyObject* Call(PyObject* self, PyObject* const* arguments, std::size_t flags, PyObject* keywords) {
  const auto* note = reinterpret_cast<OperatorNote*>(self);
  const Note before = current_note;
  const Py_ssize_t count = PyVectorcall_NARGS(flags);
  current_note = Note{note->index, count > 0 ? arguments[0] : nullptr, count};
  PyObject* result = PyObject_Vectorcall(note->base.target, arguments, flags, keywords);
  current_note = before;
  return result;
}

}  // namespace

int TakeOperatorNote(PyObject* function, PyObject* arguments) {
  const Note note = current_note;
  if (note.index < 0) {
    return -1;
  }
  const Py_ssize_t count = PyTuple_Check(arguments) ? PyTuple_GET_SIZE(arguments) : 0;
  if (count != note.count || count == 0 || PyTuple_GET_ITEM(arguments, 0) != note.subject ||
      std::string_view(Py_TYPE(function)->tp_name) == "method-wrapper") {  // `x.shape` arrives as a bound `__get__`
    return -1;
  }
  current_note.index = -1;
  return note.index;
}

Object MakeOperatorNote(PyObject* original, PyObject* target, int index) {
  Object note = MakeStandIn(operator_note_type, Call, original, target);
  reinterpret_cast<OperatorNote*>(note.get())->index = index;
  return note;
}

void InitialiseOperatorNotes() {
  operator_note_type = MakeStandInType("msprobe._core.OperatorNote", sizeof(OperatorNote));
}

}  // namespace msprobe
