"""The checker's processes: spawner and workers, seen from the parent."""

import json
import os
import signal
import time

import pytest

from checker_support import Channel, Parent, Rows, case_message, settings_message, tensor, value

ADD = ("Torch.add.0", [tensor("float32", [2, 3], -1, 1), value(2)])


@pytest.fixture(scope="module")
def parent():
    with Parent() as started:
        assert started.first["type"] == "hello"
        yield started


def test_hello_describes_the_device(parent):
    hello = parent.first
    assert hello["device_type"] == "cpu" and hello["device_count"] == 1 and hello["is_accelerator"] is False
    assert os.path.isfile(os.path.join(hello["package_dir"], "pytorch", "worker.py"))
    assert hello["torch"][0].isdigit() and hello["device_name"]
    assert isinstance(hello["warnings"], list)


def test_a_worker_answers_cases(parent):
    channel, pid = parent.spawn(1)
    for index in range(3):
        channel.send(case_message(*ADD, index=index))
        rows = Rows(channel.receive())
        assert rows.index == index and rows.forward == "pass"
    with open("/proc/{}/oom_score_adj".format(pid)) as file:
        assert int(file.read()) > 0
    channel.sock.close()
    assert parent.control.receive_object() == {"type": "exited", "worker": 1, "pid": pid, "signal": None, "status": 0}


def test_a_killed_worker_is_reported(parent):
    channel, pid = parent.spawn(2)
    os.kill(pid, signal.SIGKILL)
    assert parent.control.receive_object() == {
        "type": "exited",
        "worker": 2,
        "pid": pid,
        "signal": signal.SIGKILL,
        "status": 0,
    }
    assert channel.receive() is None


def test_interrupts_are_ignored(parent):
    channel, pid = parent.spawn(3)
    os.kill(pid, signal.SIGINT)
    os.kill(parent.process.pid, signal.SIGINT)
    channel.send(case_message(*ADD))
    assert Rows(channel.receive()).forward == "pass"
    channel.sock.close()
    assert parent.control.receive_object()["worker"] == 3


def test_workers_compute_with_one_thread_and_hold_no_foreign_sockets(parent):
    first, first_pid = parent.spawn(4)
    second, second_pid = parent.spawn(5)
    # If the second worker held the first one's socket, closing it here would not end the first worker.
    first.sock.close()
    assert parent.control.receive_object()["worker"] == 4
    second.send(case_message("Torch.matmul.0", [tensor("float32", [300, 300], -1, 1)] * 2))
    assert Rows(second.receive()).forward == "pass"
    assert len(os.listdir("/proc/{}/task".format(second_pid))) <= len(
        os.listdir("/proc/{}/task".format(parent.process.pid))
    )
    second.sock.close()
    assert parent.control.receive_object()["worker"] == 5


def test_a_message_that_is_no_case_ends_the_worker(parent):
    channel, pid = parent.spawn(6)
    channel.send(b"{}")
    assert channel.receive() is None
    assert parent.control.receive_object()["status"] == 1


def test_the_same_rows_from_every_worker(parent):
    messages = [
        case_message(
            "Torch.mul.{}".format(i),
            [tensor("float32", [50], -1, 1, True), tensor("float32", [50], 0, 3)],
            gradient=tensor("float32", [50], -1, 1),
            index=i,
        )
        for i in range(6)
    ] + [case_message("Functional.dropout.0", [tensor("float32", [400], 1, 2), value(0.5), value(True)], index=6)]
    one, _ = parent.spawn(7)
    alone = []
    for message in messages:
        one.send(message)
        alone.append(one.receive())
    two, _ = parent.spawn(8)
    shared = {}
    for i, message in reversed(list(enumerate(messages))):
        channel = one if i % 2 else two
        channel.send(message)
        shared[i] = channel.receive()
    assert alone == [shared[i] for i in range(len(messages))]
    for channel in (one, two):
        channel.sock.close()
        parent.control.receive_object()


def test_closing_the_control_socket_ends_everything():
    with Parent() as started:
        channel, pid = started.spawn()
        started.control.sock.close()
        assert started.process.wait(timeout=60) == 0
        assert channel.receive() is None
        deadline = time.monotonic() + 10
        while os.path.exists("/proc/{}".format(pid)) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not os.path.exists("/proc/{}".format(pid))


def refused(settings, environment=None):
    with Parent(settings, environment) as started:
        answer = started.first
        assert started.process.wait(timeout=60) == 1
        assert answer["type"] == "failed"
        assert "\n" not in answer["message"]
        return answer["code"], answer["message"]


def test_devices_that_do_not_exist_are_refused():
    code, message = refused(settings_message(device_ids=[0, 3]))
    assert code == "device" and "3" in message
    code, message = refused(settings_message(device_type="cuda"))
    assert code == "device" and "cuda" in message
    code, message = refused(settings_message(device_type="no_such_device"))
    assert code == "device" and "no_such_device" in message


def test_modules_and_lists_that_cannot_be_read_are_refused(tmp_path):
    code, message = refused(settings_message(imports=["no_such_module_here"]))
    assert code == "library" and "no_such_module_here" in message
    code, message = refused(settings_message(support_list=str(tmp_path / "missing.yaml")))
    assert code == "input" and "missing.yaml" in message


def test_imported_modules_take_part(tmp_path):
    (tmp_path / "my_plugin.py").write_text("import torch\ntorch.my_plugin_was_here = True\n")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    with Parent(settings_message(imports=["my_plugin"]), {"PYTHONPATH": path}) as started:
        assert started.first["type"] == "hello"


def test_a_broken_device_plugin_is_a_warning(tmp_path):
    package = tmp_path / "torch_npu"
    package.mkdir()
    (package / "__init__.py").write_text("raise ImportError('libhccl.so: cannot open shared object file')\n")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    with Parent(settings_message(device_type=""), {"PYTHONPATH": path}) as started:
        assert started.first["type"] == "hello"
        assert any("libhccl" in line for line in started.first["warnings"])


def test_a_spawner_with_a_device_context_starts_workers_afresh(tmp_path):
    (tmp_path / "used_device.py").write_text(
        "import types\nimport torch\ntorch.npu = types.SimpleNamespace(is_initialized=lambda: True)\n"
    )
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    with Parent(settings_message(imports=["used_device"]), {"PYTHONPATH": path}) as started:
        channel, pid = started.spawn(3)
        with open("/proc/{}/cmdline".format(pid), "rb") as file:
            assert b"--worker-fd" in file.read()
        channel.send(case_message(*ADD))
        assert Rows(channel.receive()).forward == "pass"
        channel.sock.close()
        assert started.control.receive_object() == {
            "type": "exited",
            "worker": 3,
            "pid": pid,
            "signal": None,
            "status": 0,
        }


def test_descriptors_arrive_with_their_message():
    import socket

    from msprobe.pytorch.worker import Channel as OurChannel

    ours, theirs = socket.socketpair()
    first, second = os.pipe()
    sender = Channel(ours)
    sender.send(b"one")
    sender.send(b"two", first)
    sender.send(b"three", second)
    receiver = OurChannel(theirs)
    assert [receiver.receive() for _ in range(3)] == [b"one", b"two", b"three"]
    assert len(receiver.descriptors) == 2
    os.write(receiver.descriptors[1], b"x")
    assert os.read(receiver.descriptors[0], 1) == b"x"
    ours.close()
    assert receiver.receive() is None
    theirs.close()
    for descriptor in receiver.descriptors + [first, second]:
        os.close(descriptor)


def test_messages_that_are_too_long_are_refused():
    import socket
    import struct

    from msprobe.pytorch.worker import Channel as OurChannel

    ours, theirs = socket.socketpair()
    ours.sendall(struct.pack("<I", (1 << 30) + 1))
    with pytest.raises(ValueError):
        OurChannel(theirs).receive()
    ours.close()
    theirs.close()


def test_settings_are_json():
    assert json.loads(settings_message())["seed"] == 1234
