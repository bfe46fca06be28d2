"""What two processes on gloo do in tests of torch.distributed: `python distributed_worker.py <folder> <rank> <scenario>...`.

Every scenario is one step of one debugger, whose number it returns among its facts; `<folder>/facts<rank>.json` has them
all. What must hold inside the process is asserted here.
"""

import gc
import json
import os
import pickle
import sys
import weakref

import torch
import torch.distributed as dist
from torch.distributed import all_reduce as bound_early

from msprobe import _core
from msprobe.pytorch import PrecisionDebugger

C10D = sys.modules["torch.distributed.distributed_c10d"]
WORK = dist.Work if hasattr(dist, "Work") else torch._C._distributed_c10d.Work


class Step:
    """`with` it: started before, stopped and stepped after."""

    def __init__(self, debugger):
        self.debugger = debugger
        self.number = debugger.service.current_iter

    def __enter__(self):
        self.debugger.start()
        return self

    def __exit__(self, *failure):
        self.debugger.stop()
        self.debugger.step()
        assert _core.watched_work_count() == 0


def tensor(rank, size=3):
    return torch.arange(float(size)) + rank


def in_place(debugger, rank):
    with Step(debugger):
        x = tensor(rank)
        assert dist.all_reduce(x) is None
        dist.broadcast(tensor=x, src=1)
        bound_early(x, op=dist.ReduceOp.MAX)
        parts = [torch.full((3,), float("nan")) for _ in range(2)]
        dist.all_gather(parts, x)
        dist.all_gather(tensor=x, tensor_list=parts)
        gathered = torch.full((6,), float("nan"))
        try:
            dist.all_gather_into_tensor(gathered, x)
        except RuntimeError as error:  # gloo of older torch
            assert "no support" in str(error)
        if rank == 0:
            dist.send(x, 1)
        else:
            assert dist.recv(torch.full((3,), float("nan")), 0) == 0
    return {"x": x.tolist()}


def asynchronous(debugger, rank):
    facts = {}
    with Step(debugger):
        x = tensor(rank)
        works = [
            dist.all_reduce(x, dist.ReduceOp.SUM, None, True),  # the flag by position
            dist.all_reduce(y := tensor(rank), async_op=True),
            dist.all_reduce(z := tensor(rank), async_op=True),
        ]
        assert all(type(work) is WORK for work in works)
        facts["watched"] = _core.watched_work_count()
        torch.relu(torch.ones(2))
        works[1].wait()
        works[0].wait()
        while not works[2].is_completed():
            pass
        facts["values"] = [x.tolist(), y.tolist(), z.tolist()]
        works[0].wait()  # a second time changes nothing
        if rank == 0:
            dist.isend(x, 1).wait()
        else:
            dist.irecv(torch.full((3,), float("nan")), 0).wait()
    return facts


def batch(debugger, rank):
    received = torch.full((3,), float("nan"))
    early = [dist.P2POp(dist.isend, tensor(rank), 1 - rank), dist.P2POp(dist.irecv, received, 1 - rank)]
    with Step(debugger):
        works = dist.batch_isend_irecv(early)
        assert len(works) == 2 and all(type(work) is WORK for work in works)
        works[1].wait()
        torch.relu(torch.ones(2))
        works[0].wait()
        torch.abs(torch.ones(2))
        late = [dist.P2POp(dist.isend, tensor(rank), 1 - rank), dist.P2POp(dist.irecv, received, 1 - rank)]
    for work in dist.batch_isend_irecv(late):  # made while collecting, used after it
        work.wait()
    return {"received": received.tolist()}


def futures(debugger, rank):
    with Step(debugger):
        x = tensor(rank)
        dist.all_reduce(x, async_op=True).get_future().wait()
        seen = []
        future = dist.all_reduce(x, async_op=True).get_future().then(lambda f: seen.append(f.value()[0].tolist()) or 7)
        assert future.wait() == 7
    return {"seen": seen}


def left_alone(debugger, rank):
    """Handles that nobody waits for: kept, dropped, waited for after stop, waited for in the next step."""
    before = dict(WORK.__dict__)
    with Step(debugger):
        x = tensor(rank)
        kept = dist.all_reduce(x, async_op=True)
        lost = tensor(rank)
        dist.all_reduce(lost, async_op=True)
        reference = weakref.ref(lost)
        torch.relu(torch.ones(2))
        late = dist.all_reduce(tensor(rank), async_op=True)
        debugger.stop()
        assert late.wait()
        debugger.start()
    assert dict(WORK.__dict__) == before
    kept.wait()
    dist.barrier()
    del lost
    gc.collect()
    return {"freed": reference() is None, "x": x.tolist()}


def many_without_wait(debugger, rank):
    x = torch.ones(1)
    works = [dist.all_reduce(x, async_op=True) for _ in range(10000)]
    count = _core.watched_work_count()
    for work in works:
        work.wait()
    return {"watched": count}


def nested(debugger, rank):
    """Calls inside a call: of torch inside a distributed one, and the other way round."""

    class Reducing(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            dist.all_reduce(torch.ones(2))
            return super().__torch_function__(function, types, args, kwargs or {})

    with Step(debugger):
        torch.nn.functional.gelu(torch.ones(2).as_subclass(Reducing))
        dist.all_reduce(torch.ones(2))
        gathered = [None, None]
        dist.all_gather_object(gathered, {"rank": rank})
    return {"gathered": gathered}


def identity(debugger, rank):
    names = ("all_reduce", "isend", "batch_isend_irecv", "all_gather_into_tensor")
    names = [name for name in names if hasattr(dist, name)]

    def state():
        import inspect

        return [
            (getattr(dist, n), getattr(C10D, n), dict(vars(getattr(dist, n))), str(inspect.signature(getattr(dist, n))),
             getattr(dist, n).__name__, getattr(dist, n).__doc__, pickle.loads(pickle.dumps(getattr(dist, n))))
            for n in names]

    def shown():
        return [entry[:2] + ({k: v for k, v in entry[2].items() if k != "__signature__"},) + entry[3:] for entry in state()]

    code = [getattr(dist, n).__code__ for n in names]
    before, at_start = state(), shown()
    with Step(debugger):
        assert shown() == at_start
        assert [getattr(dist, n).__code__ for n in names] != code
        try:
            dist.all_reduce("no tensor")
        except Exception as error:
            failure = type(error).__name__
        try:
            dist.all_reduce(nobody_takes_this=1)
        except TypeError as error:
            message = str(error)
        dist.all_reduce(torch.ones(1))
    assert state() == before
    assert [getattr(dist, n).__code__ for n in names] == code
    return {"failure": failure, "message": message}


def values(debugger, rank):
    group = dist.new_group([0, 1])
    with Step(debugger):
        x = tensor(rank)
        dist.all_reduce(x, dist.ReduceOp.MIN, group=group)
        dist.all_reduce(x, dist.ReduceOp(dist.ReduceOp.RedOpType.MAX), group)
    return {}


def ordinary(debugger, rank):
    """A function that an overlay of the support list adds, under two modules and with an attribute of its own."""
    function = dist.get_process_group_ranks
    function.extra = "mine"
    with Step(debugger):
        assert dist.get_process_group_ranks is C10D.get_process_group_ranks is function and function.extra == "mine"
        ranks = [dist.get_process_group_ranks(dist.group.WORLD), C10D.get_process_group_ranks(group=dist.group.WORLD)]
    assert vars(function) == {"extra": "mine"}
    return {"ranks": ranks}


def functional_collectives(debugger, rank):
    """The result of a functional collective waits when somebody looks at its values; the tool does not look."""
    from torch.distributed import _functional_collectives as functional

    with Step(debugger):
        result = functional.all_reduce(tensor(rank), "sum", dist.group.WORLD)
        assert type(result) is functional.AsyncCollectiveTensor
        view = result.unsqueeze(0)
        waited = result.completed or view.completed
        values = (view + 0).flatten().tolist()
    return {"waited": waited, "values": values}


def sharded(debugger, rank):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor

    mesh = init_device_mesh("cpu", (2,))
    whole = torch.arange(8.0).reshape(4, 2)
    split = distribute_tensor(whole, mesh, [Shard(0)])
    same = distribute_tensor(whole, mesh, [Replicate()])
    partial = DTensor.from_local(tensor(rank), mesh, [Partial()])
    with Step(debugger):
        torch.relu(split)
        torch.relu(same)
        torch.neg(partial)
    return {}


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(8, 16)
        self.norm = torch.nn.LayerNorm(16)
        self.second = torch.nn.Linear(16, 16)
        self.last = torch.nn.Linear(16, 4)
        self.dropout = torch.nn.Dropout(0.1)

    def forward(self, x):
        h = self.dropout(torch.relu(self.norm(self.first(x))))
        return self.last(torch.nn.functional.gelu(self.second(h)) + h)


def ddp(net):
    return torch.nn.parallel.DistributedDataParallel(net)


def ddp_with_hook(net):
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

    parallel = ddp(net)
    parallel.register_comm_hook(None, default_hooks.allreduce_hook)
    return parallel


def fsdp(net):
    from torch.distributed.fsdp import FullyShardedDataParallel

    return FullyShardedDataParallel(net, use_orig_params=True, device_id=torch.device("cpu"))


def fully_sharded(net):
    from torch.distributed.fsdp import fully_shard

    for layer in (net.first, net.second):
        fully_shard(layer)
    return fully_shard(net)


def train(make, rank, debugger):
    """Losses and gradients of two steps."""
    torch.manual_seed(0)
    model = make(Net())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    seen = []
    for number in range(2):
        torch.manual_seed(10 * number + rank)
        x = torch.randn(4, 8)
        if debugger is not None:
            debugger.start(model)
        loss = model(x).square().mean()
        loss.backward()
        seen.append(loss.detach().clone())
        for parameter in model.parameters():
            grad = parameter.grad
            seen.append(None if grad is None else getattr(grad, "to_local", lambda: grad)().clone())
        optimizer.step()
        optimizer.zero_grad()
        if debugger is not None:
            debugger.stop()
            debugger.step()
    return seen


def training(folder, rank, kinds):
    """Each way to train at every level, beside the same without the tool."""
    facts = {}
    for kind in kinds:
        plain = train(globals()[kind], rank, None)
        for level in ("L1", "L0", "mix"):
            PrecisionDebugger._instance = None
            debugger = PrecisionDebugger(
                task="statistics", level=level, dump_path=os.path.join(folder, "dump", kind, level))
            watched = train(globals()[kind], rank, debugger)
            facts["%s %s" % (kind, level)] = len(plain) == len(watched) and all(
                a is b or torch.equal(a, b) for a, b in zip(plain, watched))
    return facts


def main(folder, rank, scenarios):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method="file://" + os.path.join(folder, "store"), rank=rank, world_size=2)
    if scenarios[0] == "training":
        facts = training(folder, rank, scenarios[1:])
    else:
        facts = {}
        debugger = PrecisionDebugger(os.path.join(folder, "config.json"))
        for name in scenarios:
            step = debugger.service.current_iter
            facts[name] = dict(globals()[name](debugger, rank), step=step)
            dist.barrier()
    with open(os.path.join(folder, "facts%d.json" % rank), "w") as file:
        json.dump(facts, file)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
