"""Counts what is wrong with the backward records of a dump, for dumps of any tool that writes this format.

A call is one API, or one module at levels L0 and mix. Its backward record belongs to it by name.
"""

import collections

# What says that an output is an argument handed back: with the same shape, the values are the same, too.
_IDENTITY = ("dtype", "shape", "Max", "Min", "Mean", "Norm", "md5")


def tensors(value):
    """The tensor elements in a record or a part of one, in order."""
    if isinstance(value, dict):
        if "shape" in value and "dtype" in value:
            return [value]
        value = list(value.values())
    if not isinstance(value, list):
        return []
    return [tensor for item in value for tensor in tensors(item)]


def _differentiable(elements):
    return [tensor for tensor in elements if tensor.get("requires_grad")]


def _shapes(elements):
    return collections.Counter(tuple(tensor["shape"]) for tensor in elements)


def _identity(tensor):
    return tuple(str(tensor.get(key)) for key in _IDENTITY)


def direction(name):
    """(`forward`, `backward` or other last word of a record's name without the number behind it, index of that word)."""
    parts = name.split(".")
    index = len(parts) - 2 if len(parts) > 1 and parts[-1].isdigit() else len(parts) - 1
    return parts[index], index


def _backward_name(forward):
    """`Torch.add.0.forward` -> `Torch.add.0.backward`, `Module.fc.Linear.forward.0` -> `Module.fc.Linear.backward.0`."""
    parts = forward.split(".")
    parts[direction(forward)[1]] = "backward"
    return ".".join(parts)


def count(data):
    """{"records", "missing", "foreign"} of the `data` of a dump.json.

    records: all of them. missing: forward records with a differentiable output and no backward record, without those that
    handed an argument back unchanged. foreign: backward records with more gradients of some shape than the call's
    differentiable inputs have, or where the gradient that arrived first has the shape of no differentiable output.
    """
    missing, foreign = [], []
    for name, forward in data.items():
        if direction(name)[0] != "forward":
            continue
        inputs = tensors([forward.get("input_args"), forward.get("input_kwargs")])
        outputs = _differentiable(tensors(forward.get("output")))
        backward = data.get(_backward_name(name))
        if backward is None:
            given = {_identity(tensor) for tensor in inputs}
            if any(_identity(tensor) not in given for tensor in outputs):
                missing.append(name)
            continue
        arrived = tensors(backward.get("input"))
        unexplained = _shapes(tensors(backward.get("output"))) - _shapes(_differentiable(inputs))
        if unexplained or _shapes(arrived[:1]) - _shapes(outputs):
            foreign.append(name)
    return {"records": len(data), "missing": len(missing), "foreign": len(foreign),
            "missing_names": missing[:5], "foreign_names": foreign[:5]}
