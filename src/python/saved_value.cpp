#include "python/saved_value.h"

#include <utility>
#include <vector>

#include "python/callable_type.h"
#include "python/guarded.h"

namespace msprobe {

/// Gathers the gradients of one saved value.
class SavedGradients {
 public:
  SavedGradients(std::shared_ptr<Recording> recording, std::string full_name, const Element& value)
      : recording_(std::move(recording)), full_name_(std::move(full_name)), step_(recording_->collector.step()) {
    tree_ = WithoutValues(value, full_name_);
  }
  ~SavedGradients() { RemoveHooks(); }
  SavedGradients(const SavedGradients&) = delete;
  SavedGradients& operator=(const SavedGradients&) = delete;

  Recording& recording() { return *recording_; }
  const std::shared_ptr<Recording>& shared_recording() const { return recording_; }
  std::size_t tensor_count() const { return leaves_.size(); }
  void Expect(Object handle) { handles_.push_back(std::move(handle)); }
  bool expects_any() const { return !handles_.empty(); }

  /// True when the last one has arrived.
  bool Set(std::size_t position, PyObject* gradient) {
    Leaf& leaf = leaves_[position];
    if (leaf.arrived || step_ != recording_->collector.step()) {
      return false;
    }
    leaf.arrived = true;
    *leaf.element = recording_->values.Capture(gradient, leaf.file_stem);
    return ++arrived_ == handles_.size();
  }
  void Write() { recording_->collector.AddSavedValue(full_name_, std::move(tree_)); }
  void RemoveHooks() {
    if (handles_.empty()) {
      return;
    }
    PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
    PyErr_Fetch(&type, &value, &traceback);
    for (const Object& handle : std::exchange(handles_, {})) {
      Object ignored = Object::Steal(PyObject_CallMethod(handle.get(), "remove", nullptr));
      PyErr_Clear();
    }
    PyErr_Restore(type, value, traceback);
  }

 private:
  struct Leaf {
    Element* element;
    std::string file_stem;
    bool arrived = false;
  };

  /// The same structure with null in every place; notes where tensors stand.
  Element WithoutValues(const Element& value, const std::string& stem) {
    if (const ElementList* list = value.list()) {
      Element copy(ElementList(list->size()));
      ElementList& parts = std::get<ElementList>(copy.value);
      for (std::size_t i = 0; i < list->size(); ++i) {
        Fill(parts[i], (*list)[i], stem + "." + std::to_string(i));
      }
      return copy;
    }
    if (const ElementObject* object = value.object()) {
      Element copy{ElementObject()};
      ElementObject& members = std::get<ElementObject>(copy.value);
      members.reserve(object->size());
      for (const Member& member : *object) {
        members.push_back(Member{member.key, Element()});
        Fill(members.back().value, member.value, stem + "." + member.key);
      }
      return copy;
    }
    if (value.tensor() != nullptr) {
      AddLeaf(tree_, stem);
    }
    return {};
  }
  void AddLeaf(Element& place, const std::string& stem) {
    leaves_.push_back({&place, recording_->collector.SavesTensors(full_name_) ? stem : std::string()});
  }
  void Fill(Element& place, const Element& value, const std::string& stem) {
    if (value.tensor() != nullptr) {
      AddLeaf(place, stem);
    } else {
      place = WithoutValues(value, stem);
    }
  }

  std::shared_ptr<Recording> recording_;
  std::string full_name_;
  std::int64_t step_;
  Element tree_;
  std::vector<Leaf> leaves_;
  std::vector<Object> handles_;  ///< of the hooks
  std::size_t arrived_ = 0;
};

namespace {

struct GradientHook {
  std::weak_ptr<SavedGradients> gradients;
  std::size_t position;
};

CallableType<GradientHook> gradient_hook_type;

/// `hook(gradient)`: leaves the gradient as it is.
PyObject* CallGradientHook(PyObject* self, PyObject* const* arguments, std::size_t flags, PyObject* /*keywords*/) {
  const GradientHook& hook = CallableType<GradientHook>::Of(self);
  const std::size_t position = hook.position;
  const std::shared_ptr<SavedGradients> gradients = hook.gradients.lock();
  if (gradients == nullptr || PyVectorcall_NARGS(flags) < 1) {
    Py_RETURN_NONE;
  }
  Recording& recording = gradients->recording();
  const std::shared_ptr<Recording> owner = gradients->shared_recording();
  const Outcome outcome = Guarded(recording, "saving a gradient", [&] {
    const FrameworkAccess::Quiet quiet(recording.framework);
    if (gradients->Set(position, arguments[0])) {
      std::erase(recording.saved_gradients, gradients);
      gradients->Write();
      if (recording.framework.MayRemoveRunningHooks()) {
        gradients->RemoveHooks();
      } else {
        recording.written_gradients.push_back(gradients);
      }
    }
  });
  if (outcome == Outcome::kInterrupted) {
    return nullptr;
  }
  Py_RETURN_NONE;
}

void AwaitGradients(const std::shared_ptr<SavedGradients>& gradients, PyObject* variable) {
  Recording& recording = gradients->recording();
  std::vector<Object> tensors;
  ForEachTensor(recording.framework, variable, [&](PyObject* tensor) { tensors.push_back(Object::Borrow(tensor)); });
  if (tensors.size() == gradients->tensor_count()) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      // Without a graph nothing says beforehand whether a gradient will come.
      if (recording.framework.RequiresGrad(tensors[i].get()) || !recording.framework.ShowsGraph()) {
        const Object hook = gradient_hook_type.Make({gradients, i});
        gradients->Expect(recording.framework.RegisterTensorHook(tensors[i].get(), hook.get()));
      }
    }
  }
  if (gradients->expects_any()) {
    recording.saved_gradients.push_back(gradients);
  } else {
    gradients->Write();
  }
}

}  // namespace

void SaveValue(const std::shared_ptr<Recording>& recording, const std::string& name, PyObject* variable,
               bool with_gradients) {
  Collector& collector = recording->collector;
  if (collector.writer() == nullptr) {
    return;
  }
  const FrameworkAccess::Quiet quiet(recording->framework);
  Collector::SavedNames names = collector.NameSavedValue(name);
  Element value =
      recording->values.Capture(variable, collector.SavesTensors(names.value) ? names.value : std::string());
  std::shared_ptr<SavedGradients> gradients;
  if (with_gradients) {
    gradients = std::make_shared<SavedGradients>(recording, std::move(names.gradients), value);
  }
  collector.AddSavedValue(std::move(names.value), std::move(value));
  if (gradients) {
    AwaitGradients(gradients, variable);
  }
}

void FinishSavedGradients(Recording& recording) {
  for (const std::shared_ptr<SavedGradients>& gradients : std::exchange(recording.saved_gradients, {})) {
    gradients->Write();
    gradients->RemoveHooks();
  }
  recording.written_gradients.clear();  // takes their hooks off
}

void ForgetSavedGradients(Recording& recording) {
  for (const std::shared_ptr<SavedGradients>& gradients : std::exchange(recording.saved_gradients, {})) {
    gradients->RemoveHooks();
  }
}

void InitialiseSavedGradients() { gradient_hook_type.Initialise("msprobe._core.SavedGradientHook", CallGradientHook); }

}  // namespace msprobe
