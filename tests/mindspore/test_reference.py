"""Every record of the reference's trees is found in ours for the same network, after the mapping of docs/differences.md."""

import glob
import json
import math
import os
import re

import mindspore
import numpy as np
import pytest
from mindspore import Tensor, mint, nn, ops

from capabilities_of_mindspore import needs_graph

HERE = os.path.dirname(os.path.abspath(__file__))


class Base(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv, self.relu, self.flat = nn.Conv2d(3, 4, 3, pad_mode="same"), nn.ReLU(), nn.Flatten()
        self.fc1, self.ln, self.fc2 = nn.Dense(4 * 8 * 8, 16), nn.LayerNorm((16,)), nn.Dense(16, 16)
        self.seq = nn.SequentialCell(nn.Dense(16, 16), nn.ReLU())

    def construct(self, x, scale=1.0):
        x = self.ln(self.relu(self.fc1(self.flat(self.relu(self.conv(x))))))
        return self.seq(self.fc2(self.fc2(x))) * scale


class Net(Base):
    def construct(self, x, scale=1.0):
        h = ops.relu(super().construct(x, scale))
        a, b = ops.split(h, 8, axis=1)
        return mint.abs(ops.cat((a, b), axis=1)) + mint.nn.functional.relu(h)


@pytest.fixture(scope="module")
def training():
    mindspore.set_seed(1)
    net, random = Net(), np.random.RandomState(0)
    x = Tensor(random.randn(2, 3, 8, 8).astype(np.float32))
    y = Tensor(random.randn(2, 16).astype(np.float32))
    step = mindspore.value_and_grad(lambda x, y: ops.mse_loss(net(x), y), None, net.trainable_params())
    return net, lambda: step(x, y)


def cases():
    root = os.environ.get("MSPROBE_PEER_DIR", os.path.join(HERE, "..", "..", "..", "shared", "peer"))
    for folder in sorted(glob.glob(os.path.join(root, "mindspore", "*", "*"))):
        files = sorted(glob.glob(os.path.join(folder, "step*", "*", "dump.json")))
        if files and json.load(open(files[-1]))["data"]:
            yield pytest.param(folder, id="-".join(folder.split(os.sep)[-2:]))


# Calls that hand their input back unchanged compute no gradient and have no backward record.
NO_BACKWARD = {"Tensor.to.0.backward", "Tensor.to.1.backward"}


def counterparts(data, name, is_first_generation):
    """Our records that may be this one of the reference."""
    pattern = re.escape(name)
    primitive = re.fullmatch(r"Primitive\.(\w+)\.(\d+)\.(forward|backward)", name)
    if is_first_generation and primitive:  # without the class
        pattern = r"Primitive\.%s\.\w+\.%s\.%s" % primitive.groups()
    elif is_first_generation and name.startswith("Cell.") and ".backward." in name:
        # It counts backwards as they run; ours has the number of its forward.
        pattern = re.escape(name.rpartition(".")[0]) + r"\.\d+"
    return [record for key, record in data.items() if re.fullmatch(pattern, key)]


def tensors(element):
    if isinstance(element, dict) and "shape" in element:
        yield element
    elif isinstance(element, (list, dict)):
        for part in element.values() if isinstance(element, dict) else element:
            yield from tensors(part)


def key_of(tensor):
    return tensor["dtype"], tuple(tensor["shape"])


def is_equal(a, b):
    if a["md5"] != b["md5"] if "md5" in a and "md5" in b else False:
        return False
    return key_of(a) == key_of(b) and all(
        a[key] == b[key] or (a[key] is not None and b[key] is not None and
                             math.isclose(float(a[key]), float(b[key]), rel_tol=1e-4, abs_tol=1e-6))
        for key in ("Max", "Min", "Mean", "Norm") if key in a)


def holds(mine, theirs, name):
    """Primitives: ours are in the order of the call's tensors, theirs in that of arrival; so tensors are looked for anywhere."""
    for section, value in theirs.items():
        found = list(tensors(mine.get(section, [])))
        for position, tensor in enumerate(tensors(value)):
            # The labels of a loss need no gradient: null in ours.
            is_of_labels = name == "Functional.mse_loss.0.backward" and section == "output" and position == 1
            if not is_of_labels and not any(is_equal(tensor, other) for other in found):
                return False
    return True


@needs_graph
@pytest.mark.parametrize("folder", list(cases()))
def test_every_record_is_found_with_equal_values(configured, load_dump, tmp_path, training, folder):
    net, step = training
    settings = json.load(open(os.path.join(folder, "config_used.json")))
    task, level = settings["task"], settings["level"]
    debugger = configured(task, level, top={key: settings[key] for key in ("step", "rank")}, **settings[task])
    for _ in range(2):
        debugger.start(net)
        step()
        debugger.stop()
        debugger.step()
    for path in sorted(glob.glob(os.path.join(folder, "step*", "*", "dump.json"))):
        number = int(re.search(r"step(\d+)", path).group(1))
        theirs = json.load(open(path))["data"]
        ours = load_dump(tmp_path / "dump", step=number).data
        is_first_generation = os.sep + "1.0.4" + os.sep in path
        for name, record in theirs.items():
            if name in NO_BACKWARD:
                continue
            found = counterparts(ours, name, is_first_generation)
            assert found, name
            assert any(holds(mine, record, name) for mine in found), (name, record, found)
