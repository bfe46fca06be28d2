#include "python/work_watch.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "python/callable_type.h"
#include "python/method_stand_in.h"

namespace msprobe {
namespace {

/// What a method tells about the handle it was called on.
enum class Tells : std::uint8_t {
  kCompleted,        ///< it returns once the call has completed
  kCompletedIfTrue,  ///< its answer says so
  kFuture,           ///< it returns another handle of the same call
  kCallback,         ///< it takes a function that is called upon completion
};

struct WatchedMethod {
  const char* name;
  Tells tells;
};

constexpr std::array<WatchedMethod, 8> kMethods = {{{"wait", Tells::kCompleted},
                                                    {"result", Tells::kCompleted},
                                                    {"value", Tells::kCompleted},
                                                    {"is_completed", Tells::kCompletedIfTrue},
                                                    {"done", Tells::kCompletedIfTrue},
                                                    {"get_future", Tells::kFuture},
                                                    {"then", Tells::kCallback},
                                                    {"add_done_callback", Tells::kCallback}}};

struct WatchingMethod {
  MethodStandIn base;
  Tells tells;
};

struct WatchingCallback {
  Object callback;
  std::shared_ptr<PendingHandle> pending;
};

struct ReplacedMethod {
  Object owner, name, original, stand_in;
};

struct Handle {
  Object reference;  ///< weak; the handle itself where its class allows no weak references
  std::shared_ptr<PendingHandle> pending;
};

/// Under the GIL. Never destroyed: handles may outlive the extension's statics.
struct Watch {
  std::unordered_map<PyObject*, Handle> handles;
  std::unordered_map<PyObject*, PyObject*> by_reference;  ///< weak reference -> handle
  std::vector<ReplacedMethod> replaced;
  std::set<PyTypeObject*> owners;  ///< classes whose methods are replaced; `replaced` keeps them alive
};

Watch& TheWatch() {
  static Watch& watch = *new Watch;
  return watch;
}

std::array<PyObject*, kMethods.size()> method_names{};  ///< interned
PyTypeObject* watching_method_type = nullptr;
CallableType<WatchingCallback> watching_callback_type;

void RestoreMethods() {
  Watch& watch = TheWatch();
  const std::vector<ReplacedMethod> replaced = std::exchange(watch.replaced, {});
  watch.owners.clear();
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  for (const ReplacedMethod& method : replaced) {
    PyObject* dict = reinterpret_cast<PyTypeObject*>(method.owner.get())->tp_dict;
    if (PyDict_GetItem(dict, method.name.get()) == method.stand_in.get() &&  // else somebody has replaced it since
        PyObject_SetAttr(method.owner.get(), method.name.get(), method.original.get()) != 0) {
      PyErr_Clear();
    }
  }
  PyErr_Restore(type, value, traceback);
}

/// The pending output of a handle that is watched, which it is no longer afterwards; null for others.
std::shared_ptr<PendingHandle> TakeHandle(PyObject* handle) {
  Watch& watch = TheWatch();
  const auto found = watch.handles.find(handle);
  if (found == watch.handles.end()) {
    return nullptr;
  }
  const Handle taken = std::move(found->second);
  watch.handles.erase(found);
  watch.by_reference.erase(taken.reference.get());
  if (watch.handles.empty()) {
    RestoreMethods();
  }
  return taken.pending;
}

/// Called by Python when a watched handle is gone. What only it could have completed is given up.
PyObject* HandleGone(PyObject* /*module*/, PyObject* reference) {
  Watch& watch = TheWatch();
  if (const auto found = watch.by_reference.find(reference); found != watch.by_reference.end()) {
    TakeHandle(found->second);
  }
  Py_RETURN_NONE;
}

PyObject* HandleGoneFunction() {
  static PyMethodDef definition = {"handle_gone", HandleGone, METH_O, nullptr};
  static PyObject* function = PyCFunction_New(&definition, nullptr);
  return function;
}

bool IsMethod(PyObject* attribute) {
  return PyFunction_Check(attribute) != 0 || PyInstanceMethod_Check(attribute) != 0 ||
         Py_TYPE(attribute) == &PyMethodDescr_Type;
}

PyObject* CallWatchingMethod(PyObject* self, PyObject* const* arguments, std::size_t flags, PyObject* keywords);

void ReplaceMethods(PyTypeObject* owner) {
  Watch& watch = TheWatch();
  if (owner->tp_dict == nullptr || !watch.owners.insert(owner).second) {
    return;
  }
  for (std::size_t i = 0; i < kMethods.size(); ++i) {
    PyObject* name = method_names[i];
    Object original = Object::Borrow(PyDict_GetItem(owner->tp_dict, name));
    if (!original || !IsMethod(original.get())) {
      continue;
    }
    Object stand_in = MakeStandIn(watching_method_type, CallWatchingMethod, original.get(), original.get());
    reinterpret_cast<WatchingMethod*>(stand_in.get())->tells = kMethods[i].tells;
    if (PyObject_SetAttr(reinterpret_cast<PyObject*>(owner), name, stand_in.get()) != 0) {
      PyErr_Clear();  // a class that cannot be changed: its handles are given up at the end of the step
      continue;
    }
    watch.replaced.push_back(ReplacedMethod{Object::Borrow(reinterpret_cast<PyObject*>(owner)), Object::Borrow(name),
                                            original, std::move(stand_in)});
  }
}

PyObject* CallWatchingCallback(PyObject* self, PyObject* arguments, PyObject* keywords) {
  const WatchingCallback watching = CallableType<WatchingCallback>::Of(self);
  if (!watching.pending->Complete()) {
    return nullptr;
  }
  return PyObject_Call(watching.callback.get(), arguments, keywords);
}

/// Calls a method that takes the user's callback as its first argument, and watches that callback.
PyObject* CallWithCallback(PyObject* method, PyObject* const* arguments, std::size_t flags, PyObject* keywords,
                           std::shared_ptr<PendingHandle> pending) {
  const Py_ssize_t count = PyVectorcall_NARGS(flags);
  if (count != 2 || PyCallable_Check(arguments[1]) == 0) {
    return PyObject_Vectorcall(method, arguments, flags, keywords);
  }
  // It learns of the completion before the user's callback is called.
  const Object callback = watching_callback_type.Make({Object::Borrow(arguments[1]), std::move(pending)});
  const std::array<PyObject*, 2> watched = {arguments[0], callback.get()};
  return PyObject_Vectorcall(method, watched.data(), watched.size(), nullptr);
}

PyObject* CallWatchingMethod(PyObject* self, PyObject* const* arguments, std::size_t flags, PyObject* keywords) {
  const auto* method = reinterpret_cast<WatchingMethod*>(self);
  const Object original = Object::Borrow(method->base.target);
  const Tells tells = method->tells;
  PyObject* handle = PyVectorcall_NARGS(flags) > 0 ? arguments[0] : nullptr;
  std::shared_ptr<PendingHandle> pending;
  if (const auto found = TheWatch().handles.find(handle); found != TheWatch().handles.end()) {
    pending = found->second.pending;
  }
  if (!pending) {
    return PyObject_Vectorcall(original.get(), arguments, flags, keywords);
  }
  if (tells == Tells::kCallback) {
    try {
      return CallWithCallback(original.get(), arguments, flags, keywords, std::move(pending));
    } catch (const PythonError&) {
      return nullptr;
    }
  }
  Object result = Object::Steal(PyObject_Vectorcall(original.get(), arguments, flags, keywords));
  if (!result) {
    return nullptr;
  }
  if (tells == Tells::kFuture) {
    try {
      WatchWork(result.get(), pending);
    } catch (const PythonError&) {
      PyErr_Clear();
    }
  } else if (tells == Tells::kCompleted || result.get() == Py_True) {
    TakeHandle(handle);
    if (!pending->Complete()) {
      return nullptr;
    }
  }
  Py_INCREF(result.get());
  return result.get();
}

}  // namespace

bool IsWorkHandle(PyObject* object) {
  PyObject* type = reinterpret_cast<PyObject*>(Py_TYPE(object));
  return object != Py_None && PyObject_HasAttrString(type, "wait") != 0;
}

std::vector<PyObject*> WorkHandlesIn(const FrameworkAccess& torch, PyObject* result) {
  std::vector<PyObject*> handles;
  const auto add = [&](PyObject* object) {
    if (!torch.IsTensor(object) && IsWorkHandle(object) &&
        std::find(handles.begin(), handles.end(), object) == handles.end()) {
      handles.push_back(object);
    }
  };
  if (PyList_Check(result) || PyTuple_Check(result)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(result); ++i) {
      add(PySequence_Fast_GET_ITEM(result, i));
    }
  } else {
    add(result);
  }
  return handles;
}

void WatchWork(PyObject* handle, std::shared_ptr<PendingHandle> pending) {
  Watch& watch = TheWatch();
  Object reference = Object::Steal(PyWeakref_NewRef(handle, HandleGoneFunction()));
  if (!reference) {
    PyErr_Clear();
    reference = Object::Borrow(handle);
  }
  PyObject* mro = Py_TYPE(handle)->tp_mro;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(mro); ++i) {
    if (PyObject* base = PyTuple_GET_ITEM(mro, i); PyType_Check(base) != 0) {
      ReplaceMethods(reinterpret_cast<PyTypeObject*>(base));
    }
  }
  if (const auto known = watch.handles.find(handle); known != watch.handles.end()) {
    watch.by_reference.erase(known->second.reference.get());  // one handle of two calls tells of the later one
  }
  watch.by_reference[reference.get()] = handle;
  watch.handles[handle] = Handle{std::move(reference), std::move(pending)};
}

std::size_t WatchedWorkCount() { return TheWatch().handles.size(); }

void ForgetWork() {
  Watch& watch = TheWatch();
  const auto handles = std::exchange(watch.handles, {});
  watch.by_reference.clear();
  RestoreMethods();
}

void InitialiseWorkWatch() {
  for (std::size_t i = 0; i < kMethods.size(); ++i) {
    method_names[i] = PyUnicode_InternFromString(kMethods[i].name);
    if (method_names[i] == nullptr) {
      throw PythonError{};
    }
  }
  watching_method_type = MakeStandInType("msprobe._core.WatchingMethod", sizeof(WatchingMethod));
  watching_callback_type.Initialise("msprobe._core.WatchingCallback", CallWatchingCallback);
}

}  // namespace msprobe
