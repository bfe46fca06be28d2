"""Checks of what users pass to the debugger. Each failure is one MsprobeException that names argument, value and what is allowed."""

import json
import os

from msprobe.core.common.exceptions import MsprobeException
from msprobe.core.common.text import encodable


def refuse(text, code=MsprobeException.INVALID_PARAM_ERROR):
    raise MsprobeException(code, text)


def path_or_none(name, value):
    """`value` as a string, None if not given."""
    if value is None:
        return None
    if not isinstance(value, (str, os.PathLike)):
        refuse("%s must be a string, not %r" % (name, value))
    require_unicode(name, value)
    return os.fspath(value)


def require_unicode(name, value):
    try:
        os.fspath(value or "").encode("utf-8")
    except (UnicodeEncodeError, AttributeError):
        raise MsprobeException(
            MsprobeException.INVALID_CHAR_ERROR, "%s is not valid Unicode text: %r" % (name, value)) from None


def step_texts(step):
    """The argument `step` as JSON values, None when not given."""
    if step is None:
        return None
    if not isinstance(step, (list, tuple)):
        refuse("step must be a list, not %r" % (step,))
    try:
        return [json.dumps(element) for element in step]
    except (TypeError, ValueError):
        raise MsprobeException(
            MsprobeException.INVALID_PARAM_ERROR, "step must hold integers and ranges such as \"3-5\", not %r" % (step,)
        ) from None


def named_models(model, module_class, class_name):
    """[(prefix of its module names, module)]: the prefix is "" for one model, "0", "1", ... for a list; [] for None."""
    if model is None:
        return []
    if isinstance(model, module_class):
        return [("", model)]
    if not isinstance(model, (list, tuple)):
        refuse("model must be a %s or a list of them, not %s" % (class_name, type(model).__name__))
    for position, element in enumerate(model):
        if not isinstance(element, module_class):
            refuse("model must be a list of %s, but element %d is a %s" % (class_name, position, type(element).__name__))
    return [(str(position), element) for position, element in enumerate(model)]


def token_range(value):
    """(first, last) call of the model to collect, None for all."""
    if value is None:
        return None
    if not isinstance(value, (list, tuple)) or len(value) != 2 or not all(_is_count(v) for v in value) or value[0] > value[1]:
        refuse("token_range must be two integers [first, last] with 0 <= first <= last, not %r" % (value,))
    return tuple(value)


def rank_id(value):
    if value is not None and not _is_count(value):
        refuse("rank_id must be an integer of at least 0, not %r" % (value,))
    return value


def init_step(value):
    if not _is_count(value):
        refuse("step must be an integer of at least 0, not %r" % (value,))
    return value


def custom_api(module, api, api_prefix):
    """The prefix of its records."""
    if not isinstance(api, str) or not api:
        refuse("api must be the name of an attribute, not %r" % (api,))
    require_unicode("api", api)
    name = getattr(module, "__name__", None) or type(module).__name__
    try:
        function = getattr(module, api)
    except Exception:
        raise MsprobeException(MsprobeException.INVALID_PARAM_ERROR, "%s has no attribute %r" % (name, api)) from None
    if not callable(function):
        refuse("%s.%s is no function but a %s" % (name, api, type(function).__name__))
    if isinstance(module, type) and not module.__flags__ & _HEAP_TYPE:
        refuse("attributes of the built-in class %s cannot be replaced" % name)
    if api_prefix is None:
        api_prefix = getattr(module, "__name__", None) or "Custom"
    if not isinstance(api_prefix, str) or not api_prefix:
        refuse("api_prefix must be a string, not %r" % (api_prefix,))
    require_unicode("api_prefix", api_prefix)
    return api_prefix


_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: the class was made by Python code


def what_save_cannot_use(variable, name, save_backward, tensor_class):
    """One line, "" if it can use everything."""
    if not isinstance(variable, (tensor_class, int, float, str, list, tuple, dict)):
        return "variable must be a tensor, number, string, list, tuple or dict, not %s" % type(variable).__name__
    if not isinstance(name, str) or not name:
        return "name must be a string that is not empty, not %r" % (name,)
    if encodable(name) != name:
        return "name is not valid Unicode text: %r" % name
    if not isinstance(save_backward, bool):
        return "save_backward must be a bool, not %r" % (save_backward,)
    return ""


def module_dump(module, dump_name, module_class, class_name):
    if not isinstance(module, module_class):
        refuse("module must be a %s, not %s" % (class_name, type(module).__name__))
    if not isinstance(dump_name, str) or not dump_name:
        refuse("dump_name must be a string, not %r" % (dump_name,))
    require_unicode("dump_name", dump_name)


def seeding(seed, **flags):
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed <= 0xFFFFFFFF:
        refuse("seed must be an integer from 0 to 4294967295, not %r" % (seed,))
    for name, value in flags.items():
        if not isinstance(value, bool):
            refuse("%s must be a bool, not %r" % (name, value))


def _is_count(value):
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
