#pragma once

#include <Python.h>
#include <structmember.h>

#include <cstddef>
#include <utility>

#include "python/object.h"

namespace msprobe {

/// The type of Python objects of the extension that are called and hold a C++ value. A type is made once, at import,
/// and lives as long as the extension. A value with a member `template <F> void ForEachObject(F f)`, which calls f with
/// each of its Objects, takes part in garbage collection; one with `PyObject* Wrapped() const` shows that as
/// `__wrapped__`.
template <typename Value>
class CallableType {
 public:
  /// `name` is a literal, with the module in front; `bind`: what access through an instance of a class gives. Throws
  /// PythonError.
  void Initialise(const char* name, vectorcallfunc call, descrgetfunc bind = nullptr) {
    vectorcall_ = call;
    Initialise(name, PyVectorcall_Call, bind, Py_TPFLAGS_HAVE_VECTORCALL);
  }
  /// The same for a function that takes its arguments as a tuple and a dict.
  void Initialise(const char* name, ternaryfunc call) { Initialise(name, call, nullptr, 0); }

  /// A new object. Throws PythonError.
  Object Make(Value value) const {
    Object object = Checked(type_->tp_alloc(type_, 0));
    auto* instance = reinterpret_cast<Instance*>(object.get());
    instance->vectorcall = vectorcall_;
    instance->value = new Value(std::move(value));
    return object;
  }
  static Value& Of(PyObject* self) { return *reinterpret_cast<Instance*>(self)->value; }

 private:
  struct Instance {
    PyObject_HEAD vectorcallfunc vectorcall;
    Value* value;
  };
  static constexpr bool kShowsWrapped = requires(const Value& value) { value.Wrapped(); };
  static constexpr bool kIsCollected = requires(Value & value) {
    value.ForEachObject([](Object&) {});
  };

  void Initialise(const char* name, ternaryfunc call, descrgetfunc bind, unsigned long flags) {
    static PyMemberDef members[] = {
        {"__vectorcalloffset__", T_PYSSIZET, offsetof(Instance, vectorcall), READONLY, nullptr},
        {nullptr, 0, 0, 0, nullptr}};
    static PyMethodDef methods[] = {
        {"__reduce__", Reduce, METH_NOARGS, "Copies and pickles, as parts of a model, do nothing and need no tool."},
        {nullptr, nullptr, 0, nullptr}};
    PyType_Slot slots[9] = {{Py_tp_dealloc, reinterpret_cast<void*>(Deallocate)},
                            {Py_tp_call, reinterpret_cast<void*>(call)},
                            {Py_tp_members, members},
                            {Py_tp_methods, methods}};
    std::size_t count = 4;
    flags |= Py_TPFLAGS_DEFAULT;
    if (bind != nullptr) {
      slots[count++] = {Py_tp_descr_get, reinterpret_cast<void*>(bind)};
      flags |= Py_TPFLAGS_METHOD_DESCRIPTOR;
    }
    if constexpr (kIsCollected) {
      slots[count++] = {Py_tp_traverse, reinterpret_cast<void*>(Traverse)};
      slots[count++] = {Py_tp_clear, reinterpret_cast<void*>(Clear)};
      flags |= Py_TPFLAGS_HAVE_GC;
    }
    if constexpr (kShowsWrapped) {
      static PyGetSetDef attributes[] = {{"__wrapped__", GetWrapped, nullptr, nullptr, nullptr},
                                         {nullptr, nullptr, nullptr, nullptr, nullptr}};
      slots[count++] = {Py_tp_getset, attributes};
    }
    slots[count] = {0, nullptr};
    PyType_Spec spec = {name, static_cast<int>(sizeof(Instance)), 0, static_cast<unsigned>(flags), slots};
    Object type = Checked(PyType_FromSpec(&spec));
    Py_INCREF(type.get());
    type_ = reinterpret_cast<PyTypeObject*>(type.get());
  }

  /// A function of the standard library that takes anything and returns None.
  static PyObject* Reduce(PyObject* /*self*/, PyObject* /*ignored*/) {
    const Object contextlib = Object::Steal(PyImport_ImportModule("contextlib"));
    const Object context =
        contextlib ? Object::Steal(PyObject_CallMethod(contextlib.get(), "nullcontext", nullptr)) : Object();
    const Object builtins = Object::Steal(PyImport_ImportModule("builtins"));
    const Object getter = builtins ? Object::Steal(PyObject_GetAttrString(builtins.get(), "getattr")) : Object();
    return context && getter ? Py_BuildValue("O(Os)", getter.get(), context.get(), "__exit__") : nullptr;
  }

  static PyObject* GetWrapped(PyObject* self, void* /*closure*/) {
    PyObject* wrapped = Of(self).Wrapped();
    Py_XINCREF(wrapped);
    return wrapped;
  }
  static int Traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    int stopped = 0;
    if (Value* value = reinterpret_cast<Instance*>(self)->value; value != nullptr) {
      value->ForEachObject([&](Object& object) {
        if (stopped == 0 && object) {
          stopped = visit(object.get(), arg);
        }
      });
    }
    return stopped;
  }
  static int Clear(PyObject* self) {
    Of(self).ForEachObject([](Object& object) { object = Object(); });
    return 0;
  }
  static void Deallocate(PyObject* self) {
    if constexpr (kIsCollected) {
      PyObject_GC_UnTrack(self);
    }
    delete reinterpret_cast<Instance*>(self)->value;
    PyTypeObject* type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
  }

  PyTypeObject* type_ = nullptr;
  vectorcallfunc vectorcall_ = nullptr;
};

}  // namespace msprobe
