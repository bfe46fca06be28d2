"""Finds the device under test and sees whether it computes, without leaving a device context in this process."""

import json
import os
import select as select_module
import signal
import time

_TIME_LIMIT_S = 180
_CACHE_LIMIT = 1 << 30


def find(torch, device_type, device_ids):
    """{"device_type", "device_count", "device_name", "warnings"}, or {"error": one line}.

    `device_type` empty: the first that is there of npu, cuda, the registered plug-in device, cpu. All `device_ids` must
    exist and pass a small computation. Looking at an accelerator happens in a child process: its context would not
    survive the fork of the workers.
    """
    candidates = [device_type] if device_type else _candidates(torch)
    if candidates == ["cpu"]:
        return _check_cpu(device_ids)
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(read_end)
            answer = _look(torch, candidates, device_ids)
            with os.fdopen(write_end, "w") as file:
                json.dump(answer, file)
        finally:
            os._exit(0)
    os.close(write_end)
    text = _read_all(read_end)
    os.close(read_end)
    if text is None:
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    if text is None:
        return {"error": "the device did not answer within {} s".format(_TIME_LIMIT_S)}
    if not text:
        how = "was killed by signal {}".format(os.WTERMSIG(status)) if os.WIFSIGNALED(status) else "ended"
        return {"error": "looking for a device failed: the process {} without an answer".format(how)}
    return json.loads(text)


def select(torch, device_type, device_id, jit_compile):
    """Makes the device current for this process and returns it."""
    if device_type == "cpu":
        return torch.device("cpu")
    module = _module(torch, device_type)
    set_device = getattr(module, "set_device", None)
    if callable(set_device):
        set_device(device_id)
    if device_type == "npu" and callable(getattr(module, "set_compile_mode", None)):
        module.set_compile_mode(jit_compile=jit_compile)
    return torch.device(device_type, device_id)


def holds_context(torch):
    """Whether this process has used a device, so that it may not fork workers."""
    for name in {"cuda", "npu", _plugin_name(torch)}:
        is_initialized = getattr(_module(torch, name), "is_initialized", None)
        try:
            if callable(is_initialized) and is_initialized():
                return True
        except Exception:
            return True  # an answer that cannot be had is no permission to fork
    return False


def release_memory(torch, device):
    """Gives cached memory back to the device where much is held: other workers share it."""
    if device.type == "cpu":
        return
    module = _module(torch, device.type)
    reserved = getattr(module, "memory_reserved", None)
    empty_cache = getattr(module, "empty_cache", None)
    try:
        if callable(reserved) and callable(empty_cache) and reserved(device) > _CACHE_LIMIT:
            empty_cache()
    except Exception:
        pass  # a device that has failed; the next call says so


def computes(torch, device):
    """One line of what is wrong with a small computation on the device; empty if nothing is."""
    try:
        values = torch.arange(1.0, 9.0)
        result = (values.to(device) * 2 + 1).cpu()
    except Exception as error:
        return " ".join(str(error).split())[:300] or type(error).__name__
    return "" if result.tolist() == (values * 2 + 1).tolist() else "2 x + 1 comes out as {}".format(result.tolist())


def _module(torch, name):
    return getattr(torch, name, None) if name else None


def _plugin_name(torch):
    get_name = getattr(torch._C, "_get_privateuse1_backend_name", None)
    name = get_name() if callable(get_name) else ""
    return "" if name == "privateuseone" else name


def _candidates(torch):
    names = []
    for name in ("npu", "cuda", _plugin_name(torch)):
        if not name or name in names or _module(torch, name) is None:
            continue
        if name == "cuda" and not _built_for_cuda(torch):
            continue
        names.append(name)
    return names + ["cpu"]


def _built_for_cuda(torch):
    version = getattr(torch, "version", None)
    return bool(getattr(version, "cuda", None) or getattr(version, "hip", None))


def _check_cpu(device_ids):
    wrong = [str(number) for number in device_ids if number != 0]
    if wrong:
        return {"error": "device {} does not exist: on a CPU there is only 0".format(", ".join(wrong))}
    return {"device_type": "cpu", "device_count": 1, "device_name": _cpu_name(), "warnings": []}


def _cpu_name():
    try:
        with open("/proc/cpuinfo", errors="replace") as file:
            for line in file:
                if line.lower().startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return "CPU"


def _look(torch, candidates, device_ids):
    """In the child process: the first usable candidate."""
    refused = []
    for name in candidates:
        if name == "cpu":
            found = _check_cpu(device_ids)
            found.setdefault("warnings", []).extend(refused)
            return found
        try:
            found = _look_at(torch, name, device_ids)
        except Exception as error:
            found = {"refused": " ".join(str(error).split())[:300] or type(error).__name__}
        if "refused" not in found:
            return found
        refused.append("{} is not used: {}".format(name, found["refused"]))
    return {"error": "; ".join(refused)}


def _look_at(torch, name, device_ids):
    module = _module(torch, name)
    if module is None:
        return {"refused": "torch {} has no such device".format(torch.__version__)}
    is_available = getattr(module, "is_available", None)
    if callable(is_available) and not is_available():
        return {"refused": "torch says it is not available"}
    count_devices = getattr(module, "device_count", None)
    count = int(count_devices()) if callable(count_devices) else 1
    if count < 1:
        return {"refused": "there are no devices of this type"}
    missing = [str(number) for number in device_ids if number >= count]
    if missing:
        return {"error": "device {} does not exist: there are {} of type {}".format(", ".join(missing), count, name)}
    for number in device_ids:
        problem = computes(torch, torch.device(name, number))
        if problem:
            return {"error": "the device {}:{} does not compute: {}".format(name, number, problem)}
    get_name = getattr(module, "get_device_name", None)
    try:
        device_name = str(get_name(device_ids[0])) if callable(get_name) else name
    except Exception:
        device_name = name
    return {"device_type": name, "device_count": count, "device_name": device_name, "warnings": []}


def _read_all(descriptor):
    """Text up to the end; None when the time is up."""
    deadline = time.monotonic() + _TIME_LIMIT_S
    parts = []
    while True:
        readable, _, _ = select_module.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))
        if not readable:
            return None
        part = os.read(descriptor, 65536)
        if not part:
            return b"".join(parts).decode()
        parts.append(part)
