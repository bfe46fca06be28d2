#pragma once

#include "python/object.h"

namespace msprobe {

/// torch reports `x + y` and `x.add(y)`, `2 * x` and `x * 2` alike; the recorded names tell them apart
/// (`Tensor.__rmul__`). An operator note stands in for one operator method of torch.Tensor from start to stop: it
/// leaves word of which operator is running, calls the original, and behaves as a method in every other way. It equals
/// the original and has its hash: tables of functions find it.

/// The API index that the innermost running operator of this thread has left, -1 for none; taken once. A call that
/// somebody else makes meanwhile (a mode of the user that looks at the operator's arguments) does not take it.
int TakeOperatorNote(PyObject* function, PyObject* arguments);

/// A method-like object around `original` for the API `index`, which calls `target`: the original itself, or what makes
/// up for a torch that shows the operator to no mode. Throws PythonError.
Object MakeOperatorNote(PyObject* original, PyObject* target, int index);

/// Creates the type; once, at import. Throws PythonError.
void InitialiseOperatorNotes();

}  // namespace msprobe
