"""Makes a recorded call again, on the bench and on the device under test, and hands both results to the core.

Everything that is decided about a call (its arguments, what is raised, what is compared and how) comes from the core's
ReplayCase; here tensors are made, functions called and gradients fetched. Runs on torch 1.11 and newer.
"""

import random
import sys

import torch

from msprobe._core.replay import ErrorDataPart
from msprobe.pytorch import device_search

_ROOTS = {"Functional": torch.nn.functional, "Tensor": torch.Tensor, "Torch": torch}
_CPU = torch.device("cpu")


class CallFailed(Exception):
    """A side's call raised; the text is one line."""


def _first_line(error):
    lines = str(error).strip().splitlines()
    text = lines[0] if lines else ""
    return "{}: {}".format(type(error).__name__, text) if text else type(error).__name__


class Side:
    """One of the two places a call runs in: its device, its copies of the tensors, its random generators."""

    def __init__(self, label, device, is_bench):
        self.label = label
        self.device = device
        self.is_bench = is_bench
        self._seed_device = _device_seeder(device)

    def seed(self, value):
        """Before a call: whatever draws random numbers draws the same ones on every run (decisions 28)."""
        self.seed_torch(value)
        random.seed(value)
        if _numpy_random is not None:
            _numpy_random.seed(value)

    def seed_torch(self, value):
        # Not torch.manual_seed: it also visits every accelerator, initialised or not.
        torch.default_generator.manual_seed(value)
        if self._seed_device is not None:
            self._seed_device(value)

    def storage(self, storage, spec):
        """A fresh copy of a tensor's storage in this side's dtype and on its device."""
        dtype = getattr(torch, spec.bench_dtype) if self.is_bench else storage.dtype
        copy = storage.to(device=self.device, dtype=dtype)
        return copy.clone() if copy is storage else copy


class Tensors:
    """This side's tensor arguments. `leaves` are what gradients are taken of, None where there are none."""

    def __init__(self, side, storages, specs, wants_grad, in_place):
        self.arguments = []
        self.leaves = []
        self._layouts = []
        for storage, spec in zip(storages, specs):
            storage = side.storage(storage, spec)
            strides = spec.strides
            if not (wants_grad and spec.requires_grad):
                self._add(_lay_out(storage, spec, strides), None, None)
            elif not in_place:
                argument = _lay_out(storage, spec, strides).requires_grad_()
                self._add(argument, argument, None)
            else:
                # A leaf may not be changed in place, a copy of it may. The gradient of a strided one is taken of its
                # storage, so that the copy keeps its gaps and offset.
                leaf = storage.requires_grad_()
                self._add(_lay_out(leaf.clone(), spec, strides), leaf, spec if strides is not None else None)
        self._versions = [argument._version for argument in self.arguments]

    def _add(self, argument, leaf, layout):
        self.arguments.append(argument)
        self.leaves.append(leaf)
        self._layouts.append(layout)

    def changed(self):
        """Positions of the arguments that the call has written to."""
        return {i for i, argument in enumerate(self.arguments) if argument._version != self._versions[i]}

    def gradients(self, output, gradient):
        """Gradient of every tensor argument, None where none arrives."""
        wanted = [leaf for leaf in self.leaves if leaf is not None]
        found = iter(_differentiate(output, gradient, wanted))
        result = []
        for leaf, layout in zip(self.leaves, self._layouts):
            part = next(found) if leaf is not None else None
            if part is not None and layout is not None:
                part = _lay_out(part, layout, layout.strides)
            result.append(part)
        return result


def _differentiate(output, gradient, inputs):
    """torch.autograd.grad with allow_unused, without its argument checks: torch 2.13's import sympy, half a second."""
    if output.shape != gradient.shape:
        raise ValueError(
            "the recorded gradient has shape {}, the output {}".format(tuple(gradient.shape), tuple(output.shape))
        )
    if output.is_complex() != gradient.is_complex():
        raise ValueError("the recorded gradient is {}, the output {}".format(gradient.dtype, output.dtype))
    if not output.requires_grad:
        raise ValueError("the output does not depend on an argument that requires a gradient")
    engine = getattr(torch.autograd.Variable, "_execution_engine", None)
    if engine is None:
        return torch.autograd.grad(output, inputs, gradient, allow_unused=True)
    return engine.run_backward((output,), (gradient,), False, False, tuple(inputs), True, accumulate_grad=False)


def _lay_out(storage, spec, strides):
    return storage if strides is None else storage.as_strided(spec.shape, strides, spec.storage_offset)


def _fill(spec):
    """The storage of a planned tensor in host memory, filled; contiguous ones have their shape."""
    shape = spec.shape if spec.strides is None else (spec.storage_count,)
    storage = torch.empty(shape, dtype=getattr(torch, spec.dtype))
    spec.fill(storage)
    return storage


def _device_seeder(device):
    if device.type == "cpu":
        return None
    module = getattr(torch, device.type, None)
    seed = getattr(module, "manual_seed", None)
    return seed if callable(seed) else None


def _find_numpy_random():
    try:
        import numpy.random
    except ImportError:
        return None
    return numpy.random


_numpy_random = _find_numpy_random()
_is_zero_tensor = getattr(torch, "_is_zerotensor", None)


def to_host(value):
    """Copies of all tensors in `value` in host memory, dense and detached; the structure is kept."""
    if isinstance(value, torch.Tensor):
        tensor = value.detach()
        if tensor.is_quantized:
            tensor = tensor.dequantize()
        if tensor.layout is not torch.strided:
            tensor = tensor.to_dense()
        if tensor.device.type != "cpu":
            tensor = tensor.cpu()
        if _is_zero_tensor is not None and _is_zero_tensor(tensor):
            return torch.zeros(tensor.shape, dtype=tensor.dtype)  # autograd's tensor of zeros has no memory
        if tensor.is_complex():
            tensor = tensor.resolve_conj()
        return tensor.resolve_neg()
    if isinstance(value, (list, tuple)):
        return [to_host(item) for item in value]
    if isinstance(value, dict):
        return {key: to_host(item) for key, item in value.items()}
    return value


def _tensor_leaves(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensor_leaves(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _tensor_leaves(item)


class Executor:
    """Runs cases on one device. `replay` is the core's Replay with the settings."""

    def __init__(self, replay, device):
        self._replay = replay
        self._bench = Side("CPU", _CPU, is_bench=True)
        self._device = Side("device", device, is_bench=False)
        self._functions = {}
        self._device_failed = False

    def device_is_usable(self):
        """False when an accelerator no longer computes after a call on it has failed."""
        if not self._device_failed or self._device.device.type == "cpu":
            return True
        self._device_failed = False
        return not device_search.computes(torch, self._device.device)

    def run(self, message):
        """The message with the rows for a message with a case. Raises only for a message that is malformed."""
        case = self._replay.case(message)
        if case.skip_reason is not None:
            return case.skip(case.skip_reason)
        try:
            return self._check(case)
        except CallFailed as error:
            return case.skip(str(error))
        except Exception as error:  # the case is lost, the run is not
            return case.skip("cannot be checked: " + _first_line(error))
        finally:
            device_search.release_memory(torch, self._device.device)

    def _function(self, case, side):
        key = (case.kind, case.function, side.is_bench)
        function = self._functions.get(key)
        if function is None:
            function = self._functions[key] = self._resolve(case, side)
        return function

    def _resolve(self, case, side):
        if case.kind == "NPU":
            from msprobe.pytorch import bench_functions

            try:
                function = bench_functions.find(case.function, side.device)
            except AttributeError as error:
                raise CallFailed(str(error)) from None
            if function is None:
                raise CallFailed("no bench function for " + case.function)
            return function
        found = _ROOTS[case.kind]
        for part in case.function.split("."):
            found = getattr(found, part, None)
        if found is None:
            raise CallFailed("torch {} has no {}.{}".format(torch.__version__, case.kind, case.function))
        return found

    def _check(self, case):
        specs = case.tensors
        storages = [_fill(spec) for spec in specs]
        runs_backward = case.runs_backward
        in_place = case.in_place

        sides = (self._bench, self._device)
        tensors = []
        outputs = []
        for side in sides:
            own = Tensors(side, storages, specs, runs_backward, in_place)
            tensors.append(own)
            outputs.append(self._call(case, side, own))

        # An argument that the call has changed is an output as well, unless it is returned anyway.
        returned = {id(leaf) for leaf in _tensor_leaves(outputs[0])}
        changed = tensors[0].changed().union(tensors[1].changed(), case.updated)
        changed = sorted(i for i in changed if id(tensors[0].arguments[i]) not in returned)
        targets = outputs
        if changed:
            values = [[own.arguments[i] for i in changed] for own in tensors]
            if outputs[0] is None:
                targets = outputs = values  # the call is made for what it changes
            else:
                outputs = [[output, more] for output, more in zip(outputs, values)]
        forward = [to_host(output) for output in outputs]
        case.compare_forward(*forward)

        gradient = None
        backward = None
        if runs_backward:
            gradient, backward = self._backward(case, tensors, targets)
        elif case.backward_skip_reason:
            case.skip_backward(case.backward_skip_reason)
        if case.wants_saving():
            try:
                _save(case, storages, specs, forward, gradient, backward)
            except Exception as error:  # the verdict stands without the files
                sys.stderr.write("[msprobe] failing data is not saved: {}\n".format(_first_line(error)))
        return case.finish()

    def _call(self, case, side, own):
        function = self._function(case, side)
        args, kwargs = case.arguments(own.arguments, None if side.is_bench else side.device)
        side.seed(case.seed)
        try:
            if case.autocast is not None and not side.is_bench:
                with torch.autocast(side.device.type, dtype=getattr(torch, case.autocast)):
                    output = function(*args, **kwargs)
            else:
                output = function(*args, **kwargs)
        except Exception as error:
            self._device_failed = self._device_failed or not side.is_bench
            raise CallFailed("the call failed on the {}: {}".format(side.label, _explain(error))) from None
        if case.compared_output is not None and isinstance(output, (list, tuple)):
            output = output[case.compared_output]
        if output is NotImplemented:
            if case.function == "__eq__":
                return False
            if case.function == "__ne__":
                return True
            raise CallFailed("the operator does not take these arguments")
        return output

    def _backward(self, case, tensors, outputs):
        targets = []
        for output in outputs:
            target = _differentiable(output, case.gradient_output)
            if target is None:
                several = isinstance(output, (list, tuple))
                case.skip_backward(
                    "several outputs, and it is not known which one to differentiate"
                    if several
                    else "the output is no tensor"
                )
                return None, None
            targets.append(target)
        spec = case.gradient
        storage = _fill(spec)
        gradients = [_lay_out(side.storage(storage, spec), spec, spec.strides) for side in (self._bench, self._device)]
        results = []
        for side, own, target, gradient in zip((self._bench, self._device), tensors, targets, gradients):
            side.seed_torch(case.seed)
            try:
                results.append(to_host(own.gradients(target, gradient)))
            except Exception as error:
                self._device_failed = self._device_failed or not side.is_bench
                case.skip_backward("it failed on the {}: {}".format(side.label, _explain(error)))
                return gradients[0], None
        case.compare_backward(*results)
        return gradients[0], results


def _explain(error):
    text = _first_line(error)
    if "expected scalar type Long" in text:
        text += " (the API takes no int32 index on this side)"
    return text


def _differentiable(output, index):
    if index is not None and isinstance(output, (list, tuple)):
        output = output[index] if index < len(output) else None
    if isinstance(output, (list, tuple)) and len(output) == 1:
        output = output[0]
    return output if isinstance(output, torch.Tensor) else None


def _save(case, storages, specs, forward, gradient, backward):
    inputs = [_lay_out(storage, spec, spec.strides) for storage, spec in zip(storages, specs)]
    args, kwargs = case.arguments(inputs, None)
    part = ErrorDataPart
    following = case.save(part.FORWARD_INPUT, args, 0)
    case.save(part.FORWARD_INPUT, kwargs, following)
    case.save(part.FORWARD_BENCH, forward[0], 0)
    case.save(part.FORWARD_DEVICE, forward[1], 0)
    if gradient is not None:
        case.save(part.BACKWARD_INPUT, to_host(gradient), 0)
    if backward is not None:
        case.save(part.BACKWARD_BENCH, backward[0], 0)
        case.save(part.BACKWARD_DEVICE, backward[1], 0)
