#include "python/torch/distributed_values.h"

#include <array>
#include <string>
#include <utility>

#include "numerics/checksum.h"

namespace msprobe {
namespace {

/// What of torch.distributed is looked at, found once it has been imported; kept as long as the process lives.
struct Distributed {
  Object group, reduce_op, p2p_op;  ///< classes
  Object group_ranks;               ///< function: group -> list of global ranks
  Object world;                     ///< what torch itself keeps; null in older versions
};

Object Attribute(PyObject* object, const char* name) {
  Object value = Object::Steal(PyObject_GetAttrString(object, name));
  PyErr_Clear();
  return value;
}

const Distributed* Find() {
  static const Distributed* found = nullptr;
  if (found != nullptr) {
    return found;
  }
  // The `PyImport_GetModule` of a name that nobody imported costs a look into a dict.
  Object name = Checked(PyUnicode_FromString("torch.distributed.distributed_c10d"));
  Object module = Object::Steal(PyImport_GetModule(name.get()));
  PyErr_Clear();
  if (!module) {
    return nullptr;
  }
  auto* distributed = new Distributed{
      Attribute(module.get(), "ProcessGroup"), Attribute(module.get(), "ReduceOp"), Attribute(module.get(), "P2POp"),
      Attribute(module.get(), "get_process_group_ranks"), Attribute(module.get(), "_world")};
  found = distributed;
  return found;
}

bool IsInstance(PyObject* value, const Object& type) {
  if (!type) {
    return false;
  }
  const int result = PyObject_IsInstance(value, type.get());
  if (result < 0) {
    PyErr_Clear();
  }
  return result > 0;
}

Element Number(PyObject* value) {
  const long long number = value == nullptr || PyLong_Check(value) == 0 ? -1 : PyLong_AsLongLong(value);
  if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    return {};
  }
  return value == nullptr || PyLong_Check(value) == 0 ? Element() : Element(static_cast<std::int64_t>(number));
}

Element Utf8(const Object& text) {
  const char* utf8 = text && PyUnicode_Check(text.get()) ? PyUnicode_AsUTF8(text.get()) : nullptr;
  PyErr_Clear();
  return utf8 == nullptr ? Element() : Element(std::string(utf8));
}

struct GroupFacts {
  Element ranks, id;  ///< null where torch does not tell
};

GroupFacts FactsOf(const Distributed& distributed, PyObject* group) {
  GroupFacts facts;
  Object ranks =
      distributed.group_ranks ? Object::Steal(PyObject_CallOneArg(distributed.group_ranks.get(), group)) : Object();
  if (ranks && PyList_Check(ranks.get())) {
    ElementList list;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(ranks.get()); ++i) {
      list.push_back(Number(PyList_GET_ITEM(ranks.get(), i)));
    }
    facts.ranks = Element(std::move(list));
    Object text = Object::Steal(PyObject_Str(ranks.get()));
    Py_ssize_t size = 0;
    if (const char* utf8 = text ? PyUnicode_AsUTF8AndSize(text.get(), &size) : nullptr) {
      const std::array<char, 8> id = ChecksumText(Crc32(0, utf8, static_cast<std::size_t>(size)));
      facts.id = Element(std::string(id.data(), id.size()));
    }
  }
  PyErr_Clear();
  return facts;
}

Element CaptureGroup(const Distributed& distributed, PyObject* group) {
  GroupFacts facts = FactsOf(distributed, group);
  ElementObject object;
  object.push_back(Member{"type", Element(std::string("torch.ProcessGroup"))});
  object.push_back(Member{"group_ranks", std::move(facts.ranks)});
  object.push_back(Member{"group_id", std::move(facts.id)});
  return Element(std::move(object));
}

Element CaptureReduceOp(PyObject* value) {
  // ReduceOp.SUM is an enumerator; a ReduceOp object holds one in `op`, and its own text is an address.
  Object inner = Attribute(value, "op");
  Element text = Utf8(Object::Steal(PyObject_Str(inner ? inner.get() : value)));
  PyErr_Clear();
  ElementObject object;
  object.push_back(Member{"type", Element(std::string("torch.distributed.ReduceOp"))});
  object.push_back(Member{"value", std::move(text)});
  return Element(std::move(object));
}

Element CaptureP2POp(const Distributed& distributed, PyObject* value,
                     const std::function<Element(PyObject*)>& capture_tensor) {
  Object op = Attribute(value, "op");
  Element name = Utf8(op ? Attribute(op.get(), "__name__") : Object());
  const bool receives = name == Element(std::string("irecv"));
  Object tensor = Attribute(value, "tensor");
  Object group = Attribute(value, "group");
  ElementObject object;
  object.push_back(Member{"class_type", Element(std::string("torch.distributed.P2POp"))});
  object.push_back(Member{
      "tensor", !tensor || (receives && HiddenReceiveBuffers::IsActive()) ? Element() : capture_tensor(tensor.get())});
  object.push_back(Member{"op", std::move(name)});
  object.push_back(Member{"peer", Number(Attribute(value, "peer").get())});
  object.push_back(Member{"tag", Number(Attribute(value, "tag").get())});
  object.push_back(Member{"group_id", group ? FactsOf(distributed, group.get()).id : Element()});
  return Element(std::move(object));
}

}  // namespace

bool IsCoalescing() {
  const Distributed* distributed = Find();
  if (distributed == nullptr || !distributed->world) {
    return false;
  }
  const Object state = Attribute(distributed->world.get(), "pg_coalesce_state");
  return state && PyDict_Check(state.get()) && PyDict_GET_SIZE(state.get()) != 0;
}

std::optional<Element> CaptureDistributed(PyObject* value, const std::function<Element(PyObject*)>& capture_tensor) {
  const Distributed* distributed = Find();
  if (distributed == nullptr) {
    return std::nullopt;
  }
  if (IsInstance(value, distributed->group)) {
    return CaptureGroup(*distributed, value);
  }
  if (IsInstance(value, distributed->reduce_op)) {
    return CaptureReduceOp(value);
  }
  if (IsInstance(value, distributed->p2p_op)) {
    return CaptureP2POp(*distributed, value, capture_tensor);
  }
  return std::nullopt;
}

}  // namespace msprobe
