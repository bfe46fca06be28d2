"""What the tests of the checker's Python side share: messages as the parent writes them, and a parent."""

import array
import json
import os
import socket
import struct
import subprocess
import sys


def settings_message(**members):
    settings = {
        "type": "settings",
        "device_type": "cpu",
        "device_ids": [0],
        "imports": [],
        "jit_compile": False,
        "seed": 1234,
        "precision": 14,
        "dump_dir": "/nonexistent",
        "dump_data_dir": None,
        "error_data_dir": "",
        "support_list": "",
    }
    settings.update(members)
    return json.dumps(settings).encode()


def tensor(dtype, shape, low, high, requires_grad=False, **more):
    element = {"type": "torch.Tensor", "dtype": "torch." + dtype, "shape": list(shape), "Max": high, "Min": low}
    element.update(Mean=0.0, Norm=1.0, requires_grad=requires_grad, **more)
    return element


def value(content):
    return {"type": type(content).__name__, "value": content}


def case_message(name, args, kwargs=None, gradient=None, output=None, index=0):
    forward = {"input_args": args, "input_kwargs": kwargs or {}}
    if output is not None:
        forward["output"] = output
    backward = None if gradient is None else {"input": [gradient], "output": []}
    message = {"type": "case", "index": index, "name": name, "forward": forward, "backward": backward}
    return json.dumps(message).encode()


class Rows:
    """A worker's answer."""

    def __init__(self, message):
        answer = json.loads(message)
        assert answer["type"] == "rows"
        self.index = answer["index"]
        self.forward = answer["result"]["forward"]
        self.backward = answer["result"]["backward"]
        self.message = answer["result"]["message"]
        self.details = answer["details"]

    def row(self, end):
        (found,) = [row for row in self.details if row[0].endswith(end)]
        return found


class Channel:
    def __init__(self, sock):
        self.sock = sock
        sock.settimeout(120)

    def send(self, payload, descriptor=None):
        data = struct.pack("<I", len(payload)) + payload
        if descriptor is None:
            self.sock.sendall(data)
            return
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [descriptor]))]
        sent = self.sock.sendmsg([data], rights)
        self.sock.sendall(data[sent:])

    def receive(self):
        head = self._read(4)
        if head is None:
            return None
        return self._read(struct.unpack("<I", head)[0])

    def receive_object(self):
        message = self.receive()
        return None if message is None else json.loads(message)

    def _read(self, size):
        data = b""
        while len(data) < size:
            try:
                part = self.sock.recv(size - len(data))
            except ConnectionResetError:
                return None
            if not part:
                return None
            data += part
        return data


class Parent:
    """Starts a spawner as the command does."""

    def __init__(self, settings=None, environment=None):
        ours, theirs = socket.socketpair()
        variables = dict(os.environ, **(environment or {}))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "msprobe.pytorch.worker", "--control-fd", str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=variables,
        )
        theirs.close()
        self.control = Channel(ours)
        self.control.send(settings or settings_message())
        self.first = self.control.receive_object()

    def spawn(self, number=0, device_id=0):
        """(channel, pid) of a worker that is ready."""
        ours, theirs = socket.socketpair()
        self.control.send(
            json.dumps({"type": "spawn", "worker": number, "device_id": device_id}).encode(), theirs.fileno()
        )
        theirs.close()
        spawned = self.control.receive_object()
        assert spawned["type"] == "spawned" and spawned["worker"] == number
        channel = Channel(ours)
        assert channel.receive_object() == {"type": "ready"}
        return channel, spawned["pid"]

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.control.sock.close()
        try:
            self.process.wait(timeout=60)
        finally:
            if self.process.poll() is None:
                self.process.kill()
            self.process.stderr.close()
