"""Trains a small network with Model.train and records its steps. usage: mindspore_training.py DUMP_PATH"""

import sys

import mindspore
import mindspore.dataset
import numpy
from mindspore import nn, ops
from mindspore.train import Model

from msprobe.mindspore import PrecisionDebugger
from msprobe.mindspore.common.utils import MsprobeStep

mindspore.set_context(mode=mindspore.PYNATIVE_MODE)
mindspore.set_device("CPU")
mindspore.set_seed(1)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.features = nn.SequentialCell(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.MaxPool2d(2, 2))
        self.head = nn.SequentialCell(nn.Flatten(), nn.Dense(8 * 8 * 8, 10))

    def construct(self, x):
        return self.head(ops.relu(self.features(x)))


def samples():
    random = numpy.random.RandomState(0)
    for _ in range(2):
        yield random.randn(4, 3, 16, 16).astype(numpy.float32), random.randint(0, 10, 4).astype(numpy.int32)


debugger = PrecisionDebugger(dump_path=sys.argv[1], task="statistics", level="mix")
net = Net()
debugger.start(net)
model = Model(net, nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"), nn.Momentum(net.trainable_params(), 0.01, 0.9))
model.train(1, mindspore.dataset.GeneratorDataset(samples, ["image", "label"], shuffle=False),
            callbacks=[MsprobeStep(debugger)], dataset_sink_mode=False)
