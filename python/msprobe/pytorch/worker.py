"""Processes of the accuracy checker: a spawner that imports torch once, and the workers it forks.

Started by the command `msprobe`, as `python -m msprobe.pytorch.worker --control-fd N`. Messages are JSON objects behind
a length of four bytes (docs/architecture.md). A worker takes one case at a time; if it dies, it costs that case alone.
"""

import argparse
import gc
import importlib
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import warnings

from msprobe.pytorch import device_search

_LENGTH = struct.Struct("<I")
_MAX_MESSAGE = 1 << 30
_COLLECT_EVERY = 256  # cases between garbage collections; reference cycles are rare, a collection takes milliseconds
_OOM_SCORE = "800"  # workers volunteer: better a worker than the user's other processes
_BACKEND_AUTOLOAD = "TORCH_DEVICE_BACKEND_AUTOLOAD"


class Fatal(Exception):
    """The checker cannot go on. `code` is "device", "library" or "input"."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class Channel:
    """A stream socket with framed messages; file descriptors that come along are kept in order."""

    def __init__(self, sock):
        self.sock = sock
        self.descriptors = []

    def receive(self):
        """The next message as bytes; None when the other end is closed."""
        head = self._read(_LENGTH.size)
        if head is None:
            return None
        (size,) = _LENGTH.unpack(head)
        if size > _MAX_MESSAGE:
            raise ValueError("a message of {} bytes is larger than allowed".format(size))
        return self._read(size)

    def send(self, payload):
        self.sock.sendall(_LENGTH.pack(len(payload)) + payload)

    def send_object(self, **members):
        self.send(json.dumps(members).encode())

    def _read(self, size):
        data = bytearray(size)
        view = memoryview(data)
        while view:
            count, ancillary, _, _ = self.sock.recvmsg_into([view], socket.CMSG_SPACE(4 * 8))
            for level, kind, content in ancillary:
                if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                    whole = len(content) // 4
                    self.descriptors.extend(struct.unpack("={}i".format(whole), content[: 4 * whole]))
            if count == 0:
                return None
            view = view[count:]
        return bytes(data)


def _import_torch(argv):
    try:
        import torch
    except ImportError as error:
        raise Fatal("library", "PyTorch cannot be imported by {}: {}".format(sys.executable, _line(error)))
    except Exception as error:
        # torch imports plug-ins of devices by itself, and a plug-in without its driver fails the whole import.
        if _BACKEND_AUTOLOAD in str(error) and os.environ.get(_BACKEND_AUTOLOAD) != "0":
            os.environ[_BACKEND_AUTOLOAD] = "0"
            os.environ["MSPROBE_PLUGIN_ERROR"] = _line(error)
            os.execv(sys.executable, [sys.executable, "-m", "msprobe.pytorch.worker"] + argv)
        raise Fatal("library", "PyTorch cannot be imported by {}: {}".format(sys.executable, _line(error)))
    torch.set_num_threads(1)
    return torch


def _line(error):
    text = " ".join(str(error).split())
    return "{}: {}".format(type(error).__name__, text[:300])


def _import_modules(settings):
    """Modules that the user names and the NPU plug-in if there is one; returns warnings."""
    found = []
    if os.environ.get("MSPROBE_PLUGIN_ERROR"):
        found.append("a device plug-in of torch cannot be used: " + os.environ["MSPROBE_PLUGIN_ERROR"])
    # Not asked of importlib.util.find_spec: a package whose import fails is as good as none.
    try:
        importlib.import_module("torch_npu")
    except ModuleNotFoundError as error:
        if error.name != "torch_npu":
            found.append("torch_npu cannot be imported: " + _line(error))
    except Exception as error:
        found.append("torch_npu cannot be imported: " + _line(error))
    for name in settings.get("imports") or []:
        try:
            importlib.import_module(name)
        except Exception as error:
            raise Fatal("library", "the module {} of --import cannot be imported: {}".format(name, _line(error)))
    return found


def _make_replay(message, torch):
    from msprobe._core.replay import Replay

    try:
        return Replay(message, torch)
    except Exception as error:
        raise Fatal("input", _line(error).split(": ", 1)[-1])


class Spawner:
    """Owns the workers and tells the parent when one ends."""

    def __init__(self, channel, argv):
        self.channel = channel
        self.argv = argv
        self.workers = {}  # pid -> worker number

    def run(self):
        torch = _import_torch(self.argv)
        message = self.channel.receive()
        if message is None:
            return
        settings = json.loads(message.decode())
        found = _import_modules(settings)
        self.replay = _make_replay(message, torch)
        device = device_search.find(torch, settings.get("device_type") or "", settings.get("device_ids") or [0])
        if "error" in device:
            raise Fatal("device", device["error"])
        from msprobe.pytorch import executor  # noqa: F401  (once, before the workers are forked)

        self.message = message
        self.settings = settings
        self.device_type = device["device_type"]
        self.channel.send_object(
            type="hello",
            device_type=self.device_type,
            device_count=device["device_count"],
            device_name=device["device_name"],
            torch=str(torch.__version__),
            package_dir=os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
            is_accelerator=self.device_type != "cpu",
            warnings=found + device["warnings"],
        )
        # What is alive now stays alive: the workers' collections need not look at it, nor copy its pages.
        gc.collect()
        gc.freeze()
        self._serve(torch)

    def _serve(self, torch):
        wake_read, wake_write = os.pipe()
        for end in (wake_read, wake_write):
            os.set_blocking(end, False)
        self.wake = (wake_read, wake_write)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        import selectors

        with selectors.DefaultSelector() as selector:
            selector.register(self.channel.sock, selectors.EVENT_READ)
            selector.register(wake_read, selectors.EVENT_READ)
            while True:
                events = {key.fd for key, _ in selector.select()}
                if wake_read in events:
                    _drain(wake_read)
                    self._reap()
                if self.channel.sock.fileno() in events and not self._handle(torch):
                    break
        self._stop()

    def _handle(self, torch):
        message = self.channel.receive()
        if message is None:
            return False
        request = json.loads(message.decode())
        if request.get("type") == "spawn":
            if not self.channel.descriptors:
                raise ValueError("a spawn message came without the worker's socket")
            self._spawn(torch, request["worker"], request["device_id"], self.channel.descriptors.pop(0))
        return True

    def _spawn(self, torch, worker, device_id, descriptor):
        if device_search.holds_context(torch):
            pid = self._start_afresh(device_id, descriptor)
        else:
            pid = os.fork()
            if pid == 0:
                self._become_worker(torch, device_id, descriptor)
        os.close(descriptor)
        self.workers[pid] = worker
        self.channel.send_object(type="spawned", worker=worker, pid=pid)

    def _become_worker(self, torch, device_id, descriptor):
        status = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            self.channel.sock.close()
            for end in self.wake:
                os.close(end)
            status = run_worker(torch, self.replay, self.settings, self.device_type, device_id, descriptor)
        except BaseException as error:  # nothing may return into the spawner's code
            sys.stderr.write("[msprobe] a worker ends: {}\n".format(_line(error)))
        finally:
            sys.stderr.flush()
            os._exit(status)

    def _start_afresh(self, device_id, descriptor):
        """A device context does not survive fork: a new interpreter then."""
        content = os.memfd_create("msprobe-settings", 0)
        try:
            os.write(content, self.message)
            os.lseek(content, 0, os.SEEK_SET)
            command = [
                sys.executable,
                "-m",
                "msprobe.pytorch.worker",
                "--worker-fd",
                str(descriptor),
                "--settings-fd",
                str(content),
                "--device-type",
                self.device_type,
                "--device-id",
                str(device_id),
            ]
            process = subprocess.Popen(command, pass_fds=(descriptor, content), stdout=subprocess.DEVNULL)
        finally:
            os.close(content)
        process.returncode = 0  # reaped here, by pid
        return process.pid

    def _reap(self):
        for pid in list(self.workers):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended == 0:
                continue
            by_signal = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
            code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else 0
            worker = self.workers.pop(pid)
            self.channel.send_object(type="exited", worker=worker, pid=pid, signal=by_signal, status=code)

    def _stop(self):
        for pid in self.workers:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        for pid in self.workers:
            try:
                os.waitpid(pid, 0)
            except ChildProcessError:
                pass


def _drain(descriptor):
    try:
        while os.read(descriptor, 512):
            pass
    except BlockingIOError:
        pass


def run_worker(torch, replay, settings, device_type, device_id, descriptor):
    """Answers cases until the socket closes; returns the exit status."""
    from msprobe.pytorch.executor import Executor

    _volunteer_for_oom_killer()
    warnings.simplefilter("ignore")
    device = device_search.select(torch, device_type, device_id, bool(settings.get("jit_compile")))
    executor = Executor(replay, device)
    gc.disable()
    with socket.socket(fileno=descriptor) as sock:
        channel = Channel(sock)
        channel.send_object(type="ready")
        count = 0
        while True:
            message = channel.receive()
            if message is None:
                return 0
            channel.send(executor.run(message))
            count += 1
            if count % _COLLECT_EVERY == 0:
                gc.collect()
            if not executor.device_is_usable():
                # An accelerator that has failed badly fails every later call: a new process gets a new context.
                sys.stderr.write("[msprobe] the device stopped working; a new worker goes on\n")
                return 3


def _volunteer_for_oom_killer():
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write(_OOM_SCORE)
    except OSError:
        pass


def _run_fresh_worker(arguments):
    torch = _import_torch([])
    with open(arguments.settings_fd, "rb") as file:
        message = file.read()
    settings = json.loads(message.decode())
    _import_modules(settings)
    replay = _make_replay(message, torch)
    return run_worker(torch, replay, settings, arguments.device_type, arguments.device_id, arguments.worker_fd)


def main(argv=None):
    argv = sys.argv[1:] if argv is None else argv
    parser = argparse.ArgumentParser(prog="msprobe.pytorch.worker", description=__doc__.splitlines()[0])
    parser.add_argument("--control-fd", type=int)
    parser.add_argument("--worker-fd", type=int)
    parser.add_argument("--settings-fd", type=int)
    parser.add_argument("--device-type", default="cpu")
    parser.add_argument("--device-id", type=int, default=0)
    arguments = parser.parse_args(argv)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C means
    if arguments.worker_fd is not None:
        return _run_fresh_worker(arguments)
    if arguments.control_fd is None:
        parser.error("this module is started by the command msprobe")
    with socket.socket(fileno=arguments.control_fd) as sock:
        channel = Channel(sock)
        try:
            Spawner(channel, argv).run()
        except Fatal as error:
            channel.send_object(type="failed", code=error.code, message=str(error))
            return 1
        except (BrokenPipeError, ConnectionResetError):
            return 1  # the parent is gone
    return 0


if __name__ == "__main__":
    sys.exit(main())
