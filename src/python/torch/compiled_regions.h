#pragma once

#include "python/object.h"

namespace msprobe {

/// While a callable of torch.compile runs, nothing of the tool may lie on the thread's mode stack: it would break
/// graphs and cause recompilation (spec decisions 3). Each such callable announces itself: it sets the callback of
/// frame evaluation before the call and takes it back after it, on exceptions too. A region watch stands in for torch's
/// `set_eval_frame(callback)` from start to stop, calls it, and tells when the outermost region of a thread begins and
/// ends. It is no Python function, for the frame of one would itself be compiled.
///
/// `enter()` is called before the first callback of a region is set, `leave()` after it was taken back; both must be
/// callable without arguments. What `enter` raises passes to the caller and there is no region. Throws PythonError.
Object MakeRegionWatch(PyObject* original, PyObject* enter, PyObject* leave);

/// Makes `watch` treat this thread as inside a region that began before it was there and ends with `frame`, the running
/// frame of the compiled callable's wrapper.
void EnterRunningRegion(PyObject* watch, PyObject* frame);

/// Whether a function compiled ahead of time runs above this call. In backward such a one announces nothing.
bool CalledByCompiledCode();

/// Creates the type; once, at import. Throws PythonError.
void InitialiseCompiledRegions();

}  // namespace msprobe
