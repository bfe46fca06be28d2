"""What tests look for after whole training steps: in dumps, and in the gradients beside them."""

import torch


def check_same_gradients(expected, found, *context):
    """Bit for bit; both are dicts from a parameter's name to its gradient or None."""
    assert expected.keys() == found.keys(), context
    for name, gradient in expected.items():
        other = found[name]
        assert (gradient is None) == (other is None), (*context, name)
        assert gradient is None or torch.equal(gradient, other), (*context, name)


def stem(name):
    return name.rsplit(".", 2)[0]


def is_in_place(name):
    api = stem(name).split(".", 1)[1]
    return api == "__setitem__" or api.startswith("__i") or (api.endswith("_") and not api.endswith("__"))


def tensors(value):
    """The tensor elements in a record or a part of one."""
    if isinstance(value, dict):
        if "shape" in value and "dtype" in value:
            yield value
        else:
            for item in value.values():
                yield from tensors(item)
    elif isinstance(value, list):
        for item in value:
            yield from tensors(item)


def check_backward_records(dump):
    """Every call with a differentiated output has its own gradients, in the shapes of its arguments; how many have."""
    checked = 0
    for name in dump.names("forward"):
        forward, backward = dump.data[name], dump.data.get(name[:-len("forward")] + "backward")
        arguments = list(tensors(forward["input_args"])) + list(tensors(forward["input_kwargs"]))
        outputs = [t for t in tensors(forward["output"]) if t["requires_grad"]]
        if backward is None:
            # Handed back unchanged: the same values in the same shape as an argument, computed by nobody.
            for output in outputs:
                assert any(all(output[k] == a[k] for k in ("shape", "dtype", "Max", "Min", "Norm")) for a in arguments), name
            continue
        checked += 1
        wanted = sorted(str(t["shape"]) for t in arguments if t["requires_grad"])
        assert sorted(str(t["shape"]) for t in tensors(backward["output"])) == wanted, name
        assert [t["shape"] for t in tensors(backward["input"])][:1] == [t["shape"] for t in outputs][:1], name
    return checked
