"""Speaks the protocol of the checker's Python processes without any framework.

Lets the command be tested alone: workers answer with rows that depend on the API's name only, and misbehave where the
API or the environment says so.

API names: crash (SIGSEGV), killed (SIGKILL), leaves (exit code 7), device_lost (answers, then exit code 3), hang, slow, hungry (memory), garbage (no JSON),
foreign (answers for another API), short (a row with too few cells), error, warning, skip, fail_backward; everything
else passes.
FAKE_SPAWNER: dies, failed, silent, dies_later, no_workers, never_ready, warns, mute.
FAKE_DEVICE, FAKE_DEVICES: type and number of devices. FAKE_LOG: a file that takes a line for each case that a worker
begins, FAKE_SETTINGS: a file that takes the settings.
"""

import json
import os
import random
import signal
import socket
import struct
import sys
import time

BLANK = " "


def receive_exactly(connection, size):
    data = b""
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            return None
        data += piece
    return data


def receive(connection):
    header = receive_exactly(connection, 4)
    if header is None:
        return None
    body = receive_exactly(connection, struct.unpack("<I", header)[0])
    return None if body is None else json.loads(body)


def receive_with_descriptor(connection):
    """A frame of the control socket; the descriptor comes with its first byte."""
    header, descriptors, _, _ = socket.recv_fds(connection, 4, 4)
    if not header:
        return None, None
    if len(header) < 4:
        header += receive_exactly(connection, 4 - len(header))
    body = receive_exactly(connection, struct.unpack("<I", header)[0])
    if body is None:
        return None, None
    return json.loads(body), descriptors[0] if descriptors else None


def send(connection, message):
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    connection.sendall(struct.pack("<I", len(body)) + body)


def details_row(name, status, message):
    row = [name, "torch.float32", "torch.float32", "(2, 3)"] + [BLANK] * 17 + [status, message]
    assert len(row) == 23
    return row


def rows(case, forward, backward, message):
    name = case["name"]
    details = [details_row(name + ".forward.output.0", forward, message or "first line\nsecond line, with a comma\n")]
    if backward != BLANK:
        details.append(details_row(name + ".backward.output.0", backward, message))
        details.append(details_row(name + ".backward.output.1", backward, message))
    return {
        "type": "rows",
        "index": case["index"],
        "result": {"forward": forward, "backward": backward, "message": message},
        "details": details,
    }


def answer(connection, case):
    api = case["name"].split(".", 1)[1].rsplit(".", 1)[0]
    backward = "pass" if case["backward"] is not None else BLANK
    if api == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif api == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    elif api == "leaves":
        os._exit(7)
    elif api == "hang":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            time.sleep(60)
    elif api == "slow":
        time.sleep(float(os.environ.get("FAKE_SLOW", "0.3")))
    elif api == "hungry":
        held = bytearray(512 << 20)
        for i in range(0, len(held), 4096):
            held[i] = 1
        time.sleep(60)
    elif api == "device_lost":
        send(connection, rows(case, "error", backward, "the device failed"))
        time.sleep(0.1)
        os._exit(3)
    elif api == "garbage":
        send(connection, b"{no json")
        return
    elif api == "foreign":
        case = dict(case, index=case["index"] + 1)
    elif api == "short":
        message = rows(case, "pass", backward, "")
        message["details"][0].pop()
        send(connection, message)
        return
    elif api in ("error", "warning"):
        send(connection, rows(case, api, backward, "because"))
        return
    elif api == "skip":
        send(connection, rows(case, "SKIP", "SKIP", "not known here"))
        return
    elif api == "fail_backward":
        send(connection, rows(case, "pass", "error", "gradient differs"))
        return
    if os.environ.get("FAKE_JITTER"):
        time.sleep(random.random() * 0.02)
    send(connection, rows(case, "pass", backward, ""))


def work(connection):
    if os.environ.get("FAKE_SPAWNER") == "no_workers":
        print("no worker can live here", file=sys.stderr, flush=True)
        os._exit(9)
    if os.environ.get("FAKE_SPAWNER") == "never_ready":
        time.sleep(600)
    send(connection, {"type": "ready"})
    while True:
        case = receive(connection)
        if case is None:
            os._exit(0)
        assert case["type"] == "case"
        if "FAKE_LOG" in os.environ:
            with open(os.environ["FAKE_LOG"], "a") as log:
                log.write(case["name"] + "\n")
        answer(connection, case)


def spawn(control, message, descriptor):
    pid = os.fork()
    if pid == 0:
        control.close()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        work(socket.socket(fileno=descriptor))
    os.close(descriptor)
    send(control, {"type": "spawned", "worker": message["worker"], "pid": pid})
    return pid


def reap(control, workers):
    while workers:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        died = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
        code = 0 if died is not None else os.WEXITSTATUS(status)
        send(control, {"type": "exited", "worker": workers.pop(pid), "pid": pid, "signal": died, "status": code})


def main():
    if "-c" in sys.argv:  # asked where the package lies
        print("none")
        return 0
    assert sys.argv[1:] == ["-m", "msprobe.pytorch.worker", "--control-fd", "3"], sys.argv
    control = socket.socket(fileno=3)
    mode = os.environ.get("FAKE_SPAWNER", "")
    settings = receive(control)
    if "FAKE_SETTINGS" in os.environ:
        with open(os.environ["FAKE_SETTINGS"], "w") as file:
            json.dump(settings, file)
    if mode == "dies":
        print("Traceback (most recent call last):\nImportError: no framework here\n", file=sys.stderr, flush=True)
        return 3
    if mode == "silent":
        return 4
    if mode == "mute":
        time.sleep(600)
    if mode == "failed":
        send(control, {"type": "failed", "code": "device", "message": "the driver of the npu does not answer"})
        return 1
    if mode == "warns":
        print("a harmless line", file=sys.stderr, flush=True)
    device = os.environ.get("FAKE_DEVICE", "cpu")
    send(control, {
        "type": "hello", "device_type": device, "device_count": int(os.environ.get("FAKE_DEVICES", "1")),
        "device_name": "fake", "torch": "0.0", "package_dir": "", "is_accelerator": device != "cpu",
        "warnings": ["the fake device is slow"] if mode == "warns" else [],
    })
    workers = {}
    import select
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    os.set_blocking(read_end, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(write_end)
    while True:
        readable, _, _ = select.select([control, read_end], [], [])
        if read_end in readable:
            os.read(read_end, 4096)
            reap(control, workers)
        if control in readable:
            message, descriptor = receive_with_descriptor(control)
            if message is None:
                for pid in workers:
                    os.kill(pid, signal.SIGKILL)
                return 0
            workers[spawn(control, message, descriptor)] = message["worker"]
            if mode == "dies_later":
                time.sleep(0.2)
                print("the spawner lost its mind", file=sys.stderr, flush=True)
                os._exit(5)


if __name__ == "__main__":
    sys.exit(main())
