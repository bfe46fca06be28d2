#include "python/operator_note.h"

#include <structmember.h>

#include <cstddef>
#include <string_view>

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
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* original;
  int index;
};

PyTypeObject* operator_note_type = nullptr;

PyObject* Call(PyObject* self, PyObject* const* arguments, std::size_t flags, PyObject* keywords) {
  const auto* note = reinterpret_cast<OperatorNote*>(self);
  const Note before = current_note;
  const Py_ssize_t count = PyVectorcall_NARGS(flags);
  current_note = Note{note->index, count > 0 ? arguments[0] : nullptr, count};
  PyObject* result = PyObject_Vectorcall(note->original, arguments, flags, keywords);
  current_note = before;
  return result;
}

/// Methods are bound on access through an instance; through the class the object itself is handed out.
PyObject* Bind(PyObject* self, PyObject* instance, PyObject* /*owner*/) {
  if (instance == nullptr || instance == Py_None) {
    Py_INCREF(self);
    return self;
  }
  return PyMethod_New(self, instance);
}

/// Everything else (`__name__`, `__doc__`, `__wrapped__`, ...) is the original's.
PyObject* Attribute(PyObject* self, PyObject* name) {
  PyObject* own = PyObject_GenericGetAttr(self, name);
  if (own != nullptr || PyErr_ExceptionMatches(PyExc_AttributeError) == 0) {
    return own;
  }
  PyErr_Clear();
  return PyObject_GetAttr(reinterpret_cast<OperatorNote*>(self)->original, name);
}

PyObject* Unwrapped(PyObject* object) {
  return Py_TYPE(object) == operator_note_type ? reinterpret_cast<OperatorNote*>(object)->original : object;
}

PyObject* Compare(PyObject* self, PyObject* other, int operation) {
  return PyObject_RichCompare(Unwrapped(self), Unwrapped(other), operation);
}

Py_hash_t Hash(PyObject* self) { return PyObject_Hash(Unwrapped(self)); }

int Traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(reinterpret_cast<OperatorNote*>(self)->original);
  Py_VISIT(Py_TYPE(self));
  return 0;
}

int Clear(PyObject* self) {
  Py_CLEAR(reinterpret_cast<OperatorNote*>(self)->original);
  return 0;
}

void Deallocate(PyObject* self) {
  PyObject_GC_UnTrack(self);
  Clear(self);
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
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

Object MakeOperatorNote(PyObject* original, int index) {
  Object object = Checked(operator_note_type->tp_alloc(operator_note_type, 0));
  auto* note = reinterpret_cast<OperatorNote*>(object.get());
  note->vectorcall = Call;
  Py_INCREF(original);
  note->original = original;
  note->index = index;
  return object;
}

void InitialiseOperatorNotes() {
  static PyMemberDef members[] = {
      {"__vectorcalloffset__", T_PYSSIZET, offsetof(OperatorNote, vectorcall), READONLY, nullptr},
      {"__wrapped__", T_OBJECT, offsetof(OperatorNote, original), READONLY, nullptr},
      {nullptr, 0, 0, 0, nullptr}};
  static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(Deallocate)},
                                {Py_tp_traverse, reinterpret_cast<void*>(Traverse)},
                                {Py_tp_clear, reinterpret_cast<void*>(Clear)},
                                {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                                {Py_tp_descr_get, reinterpret_cast<void*>(Bind)},
                                {Py_tp_richcompare, reinterpret_cast<void*>(Compare)},
                                {Py_tp_hash, reinterpret_cast<void*>(Hash)},
                                {Py_tp_getattro, reinterpret_cast<void*>(Attribute)},
                                {Py_tp_members, members},
                                {0, nullptr}};
  static PyType_Spec spec = {
      "msprobe._core.OperatorNote", sizeof(OperatorNote), 0,
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR, slots};
  Object type = Checked(PyType_FromSpec(&spec));
  operator_note_type = reinterpret_cast<PyTypeObject*>(type.get());
  Py_INCREF(operator_note_type);
}

}  // namespace msprobe
