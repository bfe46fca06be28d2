"""Small hand-written models for every torch that collecting supports, and one training step of them."""

import torch
import torch.nn.functional as F
from torch import nn


class Perceptron(nn.Module):
    """Layer norm, dropout, a layer that is used twice, one that is frozen."""

    def __init__(self):
        super().__init__()
        self.first, self.again, self.last = nn.Linear(12, 16), nn.Linear(16, 16), nn.Linear(16, 5)
        self.frozen = nn.Linear(16, 16).requires_grad_(False)
        self.norm, self.dropout = nn.LayerNorm(16), nn.Dropout(0.1)

    def forward(self, x, labels):
        x = self.dropout(F.gelu(self.norm(self.first(x))))
        x = x + self.again(self.again(x)) * self.frozen(x)
        return F.cross_entropy(self.last(x).flatten(0, 1), labels)

    @staticmethod
    def batch(generator):
        return torch.randn(2, 4, 12, generator=generator), torch.randint(0, 5, (8,), generator=generator)


class Convolution(nn.Module):
    """Buffers that count, in-place activations, pooling with indices, a plain container."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(inplace=True))
        self.pool = nn.MaxPool2d(2, return_indices=True)
        self.down = nn.Conv2d(8, 8, 3, stride=2, groups=2, bias=False)
        self.head = nn.Linear(8, 4)

    def forward(self, x, target):
        x, _ = self.pool(self.stem(x))
        x = F.adaptive_avg_pool2d(F.leaky_relu(self.down(x), 0.1), 1).flatten(1)
        return F.mse_loss(torch.sigmoid(self.head(x)), target)

    @staticmethod
    def batch(generator):
        return torch.randn(2, 3, 12, 12, generator=generator), torch.rand(2, 4, generator=generator)


class Attention(nn.Module):
    """Products of batches, views, indexing, assignment into a slice, in-place operators, an output with several parts."""

    def __init__(self):
        super().__init__()
        self.embedding, self.project = nn.Embedding(11, 8), nn.Linear(8, 24)
        self.norm, self.head = nn.LayerNorm(8), nn.Linear(8, 11)

    def attend(self, x):
        query, key, value = self.project(x).view(2, 6, 2, 12).transpose(1, 2).chunk(3, dim=-1)
        scores = query @ key.transpose(-2, -1)
        scores /= 2
        scores = scores.masked_fill(torch.ones(6, 6, dtype=torch.bool).triu(1), float("-inf"))
        weights = F.dropout(F.softmax(scores, dim=-1), 0.1, self.training)
        return torch.matmul(weights, value).transpose(1, 2).reshape(2, 6, 8)

    def forward(self, tokens, labels):
        x = self.embedding(tokens)
        x = x + self.attend(self.norm(x))
        x[:, 0] = x[:, 1] * 2
        values, _ = self.head(x[:, -1]).topk(3)
        return F.nll_loss(F.log_softmax(self.head(x), -1).flatten(0, 1), labels.flatten()) + 0.01 * values.sum()

    @staticmethod
    def batch(generator):
        return (torch.randint(0, 11, (2, 6), generator=generator), torch.randint(0, 11, (2, 6), generator=generator))


class Recurrent(nn.Module):
    """A call of many autograd nodes."""

    def __init__(self):
        super().__init__()
        self.lstm, self.head = nn.LSTM(4, 6, batch_first=True), nn.Linear(6, 1)

    def forward(self, x):
        hidden, _ = self.lstm(x)
        return self.head(hidden).square().mean()

    @staticmethod
    def batch(generator):
        return (torch.randn(2, 5, 4, generator=generator),)


MODELS = {model.__name__.lower(): model for model in (Perceptron, Convolution, Attention, Recurrent)}


def build(name):
    """(model in training mode, its arguments)."""
    torch.manual_seed(1234)
    model = MODELS[name]()
    return model.train(), model.batch(torch.Generator().manual_seed(5))


def training_step(model, batch):
    """Loss and all gradients of one forward and backward."""
    model.zero_grad(set_to_none=True)
    torch.manual_seed(77)
    loss = model(*batch)
    loss.backward()
    gradients = {name: None if p.grad is None else p.grad.clone() for name, p in model.named_parameters()}
    return loss.detach().clone(), gradients
