"""Small randomly initialised networks in the style of real ones, and one training step of each.

Only what runs on a CPU is used. Dropout of nn draws other numbers in every step: the same step of two models that were built
alike is the same.
"""

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, mint, nn, ops
from mindspore.common.initializer import Normal, initializer

NAMES = ("convolutional", "llama", "bert")
_SEED = 1234
_VOCABULARY = 50


class Convolutional(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, pad_mode="same", has_bias=True)
        self.norm = nn.BatchNorm2d(4)
        self.relu = nn.ReLU()
        self.down = nn.SequentialCell(nn.Conv2d(4, 8, 3, stride=2, pad_mode="pad", padding=1), nn.BatchNorm2d(8), nn.ReLU())
        self.pool = nn.MaxPool2d(2, 2)
        self.flat = nn.Flatten()
        self.dropout = nn.Dropout(p=0.1)
        self.fc = nn.Dense(8 * 2 * 2, 10)

    def construct(self, pixels):
        x = self.relu(self.norm(self.conv(pixels)))
        x = self.relu(x + self.conv.bias.reshape(1, -1, 1, 1))
        return self.fc(self.dropout(self.flat(self.pool(self.down(x)))))


class RmsNorm(nn.Cell):
    def __init__(self, size):
        super().__init__()
        self.weight = Parameter(initializer("ones", (size,)))

    def construct(self, x):
        return x * ops.rsqrt(ops.mean(ops.square(x), axis=-1, keep_dims=True) + 1e-6) * self.weight


def _rotate_half(x):
    first, second = ops.chunk(x, 2, axis=-1)
    return ops.cat((-second, first), axis=-1)


class RotaryAttention(nn.Cell):
    def __init__(self, hidden, heads):
        super().__init__()
        self.heads, self.size = heads, hidden // heads
        self.q, self.k, self.v, self.o = [nn.Dense(hidden, hidden, has_bias=False) for _ in range(4)]

    def construct(self, x, *, rotary, mask=None):
        cos, sin = rotary
        batch, length, hidden = x.shape
        q, k, v = [p(x).reshape(batch, length, self.heads, self.size).transpose(0, 2, 1, 3) for p in (self.q, self.k, self.v)]
        q = q * cos + _rotate_half(q) * sin
        k = k * cos + _rotate_half(k) * sin
        scores = ops.matmul(q, k.swapaxes(-1, -2)) / self.size ** 0.5
        if mask is not None:
            scores = ops.masked_fill(scores, mask, -1e9)
        weights = ops.dropout(ops.softmax(scores, axis=-1), p=0.1, training=self.training)
        return self.o((weights @ v).transpose(0, 2, 1, 3).reshape(batch, length, hidden)), weights


class SwiGlu(nn.Cell):
    def __init__(self, hidden, inner):
        super().__init__()
        self.gate, self.up = nn.Dense(hidden, inner, has_bias=False), nn.Dense(hidden, inner, has_bias=False)
        self.down = nn.Dense(inner, hidden, has_bias=False)

    def construct(self, x):
        return self.down(ops.silu(self.gate(x)) * self.up(x))


class LlamaBlock(nn.Cell):
    def __init__(self, hidden, heads):
        super().__init__()
        self.attention_norm, self.attention = RmsNorm(hidden), RotaryAttention(hidden, heads)
        self.mlp_norm, self.mlp = RmsNorm(hidden), SwiGlu(hidden, 2 * hidden)

    def construct(self, x, *, rotary, mask):
        attended, _ = self.attention(self.attention_norm(x), rotary=rotary, mask=mask)
        x = x + attended
        return {"hidden": x + self.mlp(self.mlp_norm(x))}


class Llama(nn.Cell):
    def __init__(self, hidden=32, heads=2, length=8):
        super().__init__()
        self.embedding = nn.Embedding(_VOCABULARY, hidden)
        self.blocks = nn.CellList([LlamaBlock(hidden, heads) for _ in range(2)])
        self.norm = RmsNorm(hidden)
        self.head = nn.Dense(hidden, _VOCABULARY, has_bias=False)
        size = hidden // heads
        angles = np.outer(np.arange(length), 1.0 / 10000 ** (np.arange(0, size, 2) / size))
        angles = np.concatenate([angles, angles], axis=-1).astype(np.float32)
        self.rotary = Tensor(np.cos(angles)), Tensor(np.sin(angles))
        self.mask = Tensor(np.triu(np.ones((length, length), bool), 1))

    def construct(self, tokens):
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x, rotary=self.rotary, mask=self.mask)["hidden"]
        return self.head(self.norm(x))


class BertEmbeddings(nn.Cell):
    def __init__(self, hidden, length):
        super().__init__()
        self.words = Parameter(initializer(Normal(0.02), (_VOCABULARY, hidden)))
        self.positions = nn.Embedding(length, hidden)
        self.norm = nn.LayerNorm((hidden,))
        self.dropout = nn.Dropout(p=0.1)

    def construct(self, tokens):
        positions = ops.arange(tokens.shape[1])
        return self.dropout(self.norm(ops.gather(self.words, tokens, 0) + self.positions(positions)))


class SelfAttention(nn.Cell):
    def __init__(self, hidden, heads):
        super().__init__()
        self.heads, self.size = heads, hidden // heads
        self.scale = Tensor([self.size ** -0.5], ms.float32)
        self.qkv = mint.nn.Linear(hidden, 3 * hidden)
        self.out = mint.nn.Linear(hidden, hidden)

    def construct(self, x, mask):
        batch, length, hidden = x.shape
        q, k, v = ops.split(self.qkv(x), hidden, axis=-1)
        q, k, v = [mint.permute(mint.reshape(t, (batch, length, self.heads, self.size)), (0, 2, 1, 3)) for t in (q, k, v)]
        scores = mint.mul(mint.matmul(q, mint.permute(k, (0, 1, 3, 2))), self.scale)
        weights = mint.nn.functional.softmax(mint.where(mask, scores, -1e9), dim=-1)
        x = mint.permute(mint.matmul(weights, v), (0, 2, 1, 3))
        return self.out(mint.reshape(x, (batch, length, hidden)))


class BertBlock(nn.Cell):
    def __init__(self, hidden, heads):
        super().__init__()
        self.attention, self.attention_norm = SelfAttention(hidden, heads), nn.LayerNorm((hidden,))
        self.inner, self.gelu, self.outer = mint.nn.Linear(hidden, 2 * hidden), nn.GELU(), mint.nn.Linear(2 * hidden, hidden)
        self.norm = nn.LayerNorm((hidden,))
        # One for each place: a dropout that is called twice draws differently from run to run, with MindSpore alone.
        self.attention_dropout, self.dropout = nn.Dropout(p=0.1), nn.Dropout(p=0.1)

    def construct(self, x, mask):
        x = self.attention_norm(mint.add(x, self.attention_dropout(self.attention(x, mask))))
        return self.norm(mint.add(x, self.dropout(self.outer(self.gelu(self.inner(x))))))


class Bert(nn.Cell):
    def __init__(self, hidden=32, heads=4, length=8):
        super().__init__()
        self.embeddings = BertEmbeddings(hidden, length)
        self.blocks = nn.CellList([BertBlock(hidden, heads) for _ in range(2)])
        self.transform, self.norm = mint.nn.Linear(hidden, hidden), nn.LayerNorm((hidden,))
        self.words = self.embeddings.words  # tied to the output
        self.bias = Parameter(initializer("zeros", (_VOCABULARY,)))

    def construct(self, tokens, mask):
        x = self.embeddings(tokens)
        for block in self.blocks:
            x = block(x, mask)
        x = self.norm(mint.nn.functional.relu(self.transform(x)) + mint.tanh(x))
        return mint.nn.functional.linear(x, self.words, self.bias)


def build(name):
    """(cell in training mode, its inputs, a function of no arguments that gives loss and gradients by parameter)."""
    ms.set_seed(_SEED)
    random = np.random.RandomState(_SEED)
    tokens = Tensor(random.randint(0, _VOCABULARY, (2, 8)).astype(np.int32))
    if name == "convolutional":
        cell, inputs = Convolutional(), (Tensor(random.randn(2, 3, 8, 8).astype(np.float32)),)
        labels = Tensor(np.array([3, 7], np.int32))
    elif name == "llama":
        cell, inputs, labels = Llama(), (tokens,), tokens.reshape(-1)
    elif name == "bert":
        mask = np.ones((2, 1, 1, 8), bool)
        mask[1, ..., 6:] = False
        cell, inputs, labels = Bert(), (tokens, Tensor(mask)), tokens.reshape(-1)
    else:
        raise ValueError("unknown model " + name)
    cell.set_train()
    return cell, inputs, _training_step(cell, inputs, labels)


def _training_step(cell, inputs, labels):
    parameters = cell.trainable_params()

    def loss_of(*inputs):
        logits = cell(*inputs)
        return ops.cross_entropy(logits.reshape(-1, logits.shape[-1]), labels)

    forward_and_backward = ms.value_and_grad(loss_of, None, parameters)

    def step():
        ms.set_seed(77)
        loss, gradients = forward_and_backward(*inputs)
        return loss.asnumpy().copy(), {p.name: gradient.asnumpy().copy() for p, gradient in zip(parameters, gradients)}

    return step
