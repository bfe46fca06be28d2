"""Arguments of rare kinds: what is recorded of each, that nothing is consumed, and that gradients follow the same parts."""

import collections
import dataclasses
import enum
import functools
import os
import types
import typing

import numpy
import pytest
import torch
import torch.nn.functional as F

from watchers import Anything

STATISTICS = ("Max", "Min", "Mean", "Norm")


def described(record, value, task="statistics", **section):
    dump = record(lambda: F.embedding(Anything(), (value,)), task=task, **section)
    return dump.data["Functional.embedding.0.forward"]["input_args"][1][0]


def statistics(element):
    return tuple(element[key] for key in STATISTICS)


@dataclasses.dataclass
class Plain:
    first: object
    second: object = 2


@dataclasses.dataclass
class Late(Plain):
    third: object = dataclasses.field(default=3, repr=False)
    shared = 9
    of_the_class: typing.ClassVar[int] = 4


class Slotted:
    __slots__ = ("first", "second")
    __annotations__ = {"first": object, "second": object}


Slotted = dataclasses.dataclass(Slotted)


class Point(collections.namedtuple("Point", "x y")):
    pass


class Subclassed(numpy.ndarray):
    pass


class Color(enum.Enum):
    RED = 1


class Number(enum.IntEnum):
    FIVE = 5


class Word(str, enum.Enum):
    YES = "yes"


class Squares(collections.abc.Mapping):
    def __getitem__(self, key):
        return key * key

    def __iter__(self):
        return iter((1, 2))

    def __len__(self):
        return 2


def moved_to_the_end():
    ordered = collections.OrderedDict(a=1, b=2)
    ordered.move_to_end("a")
    return ordered


def integer(value):
    return {"type": "int", "value": value}


@pytest.mark.parametrize("value, expected", [
    (Plain(1), {"first": integer(1), "second": integer(2)}),
    (Late(1), {"first": integer(1), "second": integer(2), "third": integer(3)}),
    (Slotted(1, Plain(5, None)), {"first": integer(1), "second": {"first": integer(5), "second": None}}),
    (Point(1, 2), [integer(1), integer(2)]),
    ({1: 2, None: 3, (4, 5): 6, torch.float32: 7},
     {"1": integer(2), "None": integer(3), "(4, 5)": integer(6), "torch.float32": integer(7)}),
    (collections.UserDict(a=1), {"a": integer(1)}),
    (types.MappingProxyType({"a": 1}), {"a": integer(1)}),
    (collections.defaultdict(list, a=1), {"a": integer(1)}),
    (Squares(), {"1": integer(1), "2": integer(4)}),
    (Color.RED, None),
    (Number.FIVE, integer(5)),
    (Word.YES, {"type": "str", "value": "yes"}),
    ({1, 2}, None),
    (range(3), None),
    (collections.deque([1]), None),
    (functools.partial(F.relu), None),
    (1j, {"type": "complex", "value": [0.0, 1.0]}),
    (b"x", None),
    (Plain, None),
    (torch.Generator(), None),
    (torch.strided, None),
    (torch.finfo(torch.float32), None),
    ("a\ud800b", {"type": "str", "value": "a?b"}),
    (torch.channels_last, {"type": "torch.memory_format", "format": "channels_last"}),
    (torch.device("cuda", 1), {"type": "torch.device", "value": "cuda:1"}),
    (torch.float16, {"type": "torch.dtype", "value": "torch.float16"}),
    (-2**63, integer(-2**63)),
    (2**64 - 1, integer(2**64 - 1)),
    (numpy.str_("q"), {"type": "str_", "value": "q"}),
    (numpy.bool_(True), {"type": "bool_", "value": True}),
    (numpy.uint64(2**64 - 1), {"type": "uint64", "value": 2**64 - 1}),
    (numpy.complex64(1j), None),
    (numpy.datetime64("2020"), None),
    (numpy.dtype("f4"), None),
], ids=lambda value: type(value).__name__)
def test_what_is_recorded(record, value, expected):
    assert described(record, value) == expected


def test_an_ordered_dict_keeps_its_own_order(record):
    assert list(described(record, moved_to_the_end())) == ["b", "a"]


def test_containers_of_transformers(record):
    outputs = pytest.importorskip("transformers.modeling_outputs")
    value = outputs.BaseModelOutput(last_hidden_state=torch.ones(2))
    assert list(described(record, value)) == ["last_hidden_state"]


@pytest.mark.parametrize("key, value, expected", [
    ("device", 0, ("torch.device", "0")),
    ("device", "cuda:1", ("torch.device", "cuda:1")),
    ("device", torch.device("cpu"), ("torch.device", "cpu")),
    ("dtype", float, ("torch.dtype", "torch.float64")),
    ("dtype", bool, ("torch.dtype", "torch.bool")),
    ("dtype", "float32", ("torch.dtype", "float32")),
    ("output_dtype", torch.int8, ("torch.dtype", "torch.int8")),
    ("device", True, ("bool", True)),
])
def test_keys_that_name_a_dtype_or_device(record, key, value, expected):
    assert described(record, {key: value}) == {key: dict(zip(("type", "value"), expected))}


@pytest.mark.parametrize("key", ["device", "dtype"])
def test_such_a_key_of_nothing_or_of_a_container(record, key):
    assert described(record, {key: None}) == {key: None}
    assert described(record, {key: {"a": 1}}) == {key: {"a": integer(1)}}


def test_generators_and_iterators_are_not_consumed(record):
    generator, iterator = (i for i in range(3)), iter([1, 2])
    assert described(record, [generator, iterator]) == [None, None]
    assert (list(generator), list(iterator)) == ([0, 1, 2], [1, 2])


def test_a_mapping_that_raises_is_null_and_told_once(fresh_debugger, load_dump, tmp_path):
    class Raising(Squares):
        def __iter__(self):
            raise ArithmeticError("made by the test")

    debugger = fresh_debugger(dump_path=str(tmp_path))
    debugger.start()
    F.embedding(Anything(), (Raising(), 5))
    debugger.stop()
    dump = load_dump(tmp_path)
    assert dump.data["Functional.embedding.0.forward"]["input_args"][1] == [None, integer(5)]
    assert dump.errors.count("made by the test") == 1


def test_a_field_that_was_never_set_is_null(record):
    value = Slotted.__new__(Slotted)
    value.first = 1
    assert described(record, value) == {"first": integer(1), "second": None}


@pytest.mark.parametrize("wrap", [
    lambda x: Plain(x), lambda x: Slotted(1, x), lambda x: collections.UserDict(a=x), lambda x: {"a": [x]},
    lambda x: types.MappingProxyType({"a": x}), lambda x: Point(x, 1)],
    ids=["dataclass", "slots", "UserDict", "dict", "proxy", "namedtuple"])
def test_gradients_belong_to_tensors_wherever_they_are_described(record, wrap):
    """A function of the user that takes a container, seen through the table of APIs."""
    class Opening:
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            (container,) = args[1]
            return find(container) * 3

    def find(value):
        if isinstance(value, torch.Tensor):
            return value
        if dataclasses.is_dataclass(value):
            value = [getattr(value, field.name) for field in dataclasses.fields(value)]
        elif hasattr(value, "values"):
            value = value.values()
        return next(filter(lambda found: found is not None, map(find, value)), None) if isinstance(
            value, collections.abc.Iterable) else None

    x = torch.ones(2, requires_grad=True)
    dump = record(lambda: F.embedding(Opening(), (wrap(x),)).sum().backward())
    gradients = [g for g in dump.data["Functional.embedding.0.backward"]["output"] if g is not None]
    assert [g["Max"] for g in gradients] == [3.0]


@pytest.mark.parametrize("array, dtype, expected", [
    (numpy.arange(6, dtype="f4").reshape(2, 3).T, "float32", (5.0, 0.0, 2.5, pytest.approx(55**0.5))),
    (numpy.arange(5.0)[::-2], "float64", (4.0, 0.0, 2.0, pytest.approx(20**0.5))),
    (numpy.array([2**62]), "int64", (2**62,) + (2**62,) + (float(2**62),) * 2),
    (numpy.array([True, False]), "bool", (True, False, None, None)),
    (numpy.array([3 + 4j]), "complex128", (5.0,) * 4),
    (numpy.array(3.0), "float64", (3.0,) * 4),
    (numpy.zeros((0, 2)), "float64", (None,) * 4),
    (numpy.array(["a"]), "<U1", (None,) * 4),
    (numpy.array([{}]), "object", (None,) * 4),
    (numpy.array(["2020"], dtype="M8[D]"), "datetime64[D]", (None,) * 4),
    (numpy.zeros(2, dtype=[("a", "i1"), ("b", "f4")])["b"], "float32", (0.0,) * 4),  # not on multiples of its size
    (numpy.broadcast_to(numpy.ones(1), (3, 4)), "float64", (1.0, 1.0, 1.0, pytest.approx(12**0.5))),
    (numpy.arange(2.0).view(Subclassed), "float64", (1.0, 0.0, 0.5, 1.0)),
])
def test_numpy_arrays(record, array, dtype, expected):
    element = described(record, array)
    assert (element["type"], element["dtype"], element["shape"]) == ("numpy.ndarray", dtype, list(array.shape))
    assert statistics(element) == expected


@pytest.mark.parametrize("name", [
    "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu", "uint16", "uint32", "uint64",
    "complex32", "bfloat16"])
@pytest.mark.parametrize("task", ["statistics", "tensor"])
@pytest.mark.filterwarnings("ignore:ComplexHalf")
def test_narrow_and_unsigned_dtypes(record, name, task):
    dtype = getattr(torch, name, None)
    if dtype is None:
        pytest.skip("this torch has no " + name)
    element = described(record, torch.tensor([4.0, 1.0, 2.0]).to(dtype), task=task)
    assert (element["dtype"], element["Max"], element["Min"]) == ("torch." + name, 4, 1)
    assert ("data_name" in element) == (task == "tensor")


@pytest.mark.parametrize("name", ["uint4", "int4", "bits8", "float4_e2m1fn_x2"])
def test_dtypes_below_a_byte_keep_their_name_and_are_not_read(record, name):
    dtype = getattr(torch, name, None)
    if dtype is None:
        pytest.skip("this torch has no " + name)
    element = described(record, torch.zeros(4, dtype=torch.uint8).view(dtype))
    assert element["dtype"] == "torch." + name and statistics(element) == (None,) * 4


@pytest.mark.parametrize("make", [
    lambda x: x.to_sparse(), lambda x: x.to_sparse_csr(), lambda x: x.to_sparse_csc(),
    lambda x: x.to_sparse_bsr((2, 3)), lambda x: torch.quantize_per_tensor(x, 0.5, 0, torch.quint8),
    lambda x: torch.nn.Parameter(x)], ids=["coo", "csr", "csc", "bsr", "quantised", "parameter"])
@pytest.mark.filterwarnings("ignore:Sparse", "ignore:torch.quantize")
def test_values_of_other_layouts(record, make):
    element = described(record, make(torch.arange(6.0).reshape(2, 3)), task="tensor")
    assert element["shape"] == [2, 3] and statistics(element)[:3] == (5.0, 0.0, 2.5) and "data_name" in element


@pytest.mark.parametrize("make", [
    lambda: torch.nn.UninitializedParameter(), lambda: torch.empty(2, device="meta"),
    lambda: torch.masked.masked_tensor(torch.ones(2), torch.tensor([True, False]))], ids=["uninitialised", "meta", "masked"])
@pytest.mark.filterwarnings("ignore:The PyTorch API of MaskedTensors")
def test_tensors_without_values_to_read(record, make):
    element = described(record, make(), task="tensor")
    assert statistics(element) == (None,) * 4 and "data_name" not in element


def test_an_expanded_tensor_is_saved_as_it_is_stored(record):
    dump = record(lambda: torch.neg(torch.ones(1).expand(1000000)), task="tensor")
    element = dump.data["Torch.neg.0.forward"]["input_args"][0]
    assert (element["stride"], element["storage_offset"], element["shape"]) == ([0], 0, [1000000])
    path = os.path.join(dump.header["dump_data_dir"], element["data_name"])
    assert os.path.getsize(path) < 10000
    loaded = torch.load(path, weights_only=True)
    assert loaded.shape == (1000000,) and loaded.stride() == (0,) and bool((loaded == 1).all())


def test_views_of_a_subclass_have_their_strides(record):
    class Sub(torch.Tensor):
        pass

    element = described(record, torch.arange(6.0).reshape(2, 3).as_subclass(Sub)[:, 1:])
    assert (element["stride"], element["storage_offset"], element["Min"]) == ([3, 1], 1, 1.0)


def test_no_code_of_a_wrapping_subclass_runs(record):
    seen = []

    class Wrapper(torch.Tensor):
        @staticmethod
        def __new__(cls, inner):
            return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

        def __init__(self, inner):
            self.inner = inner

        @classmethod
        def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
            seen.append(function)
            return NotImplemented

    element = described(record, Wrapper(torch.ones(2, 3)), task="tensor")
    assert seen == [] and element["shape"] == [2, 3] and statistics(element) == (None,) * 4


def test_the_memory_of_a_dispatching_subclass_is_read_behind_its_back(record):
    seen = []

    class Own(torch.Tensor):
        __torch_function__ = torch._C._disabled_torch_function_impl

        @classmethod
        def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
            seen.append(function)
            return NotImplemented

    value = torch.Tensor._make_subclass(Own, torch.tensor([1.0, 3.0]))
    seen.clear()
    assert statistics(described(record, value))[:3] == (3.0, 1.0, 2.0) and seen == []


def test_outputs_by_position_and_out_arguments(record):
    x, out = torch.tensor([[1.0, 5.0], [7.0, 2.0]]), torch.zeros(2, 2)

    def step():
        torch.max(x, 1)
        torch.add(x, 1, out=out)

    data = record(step).data
    values, indices = data["Torch.max.0.forward"]["output"]
    assert (values["Max"], indices["dtype"]) == (7.0, "torch.int64")
    add = data["Torch.add.0.forward"]
    assert (add["input_kwargs"]["out"]["Max"], add["output"][0]["Max"]) == (0.0, 8.0)


@pytest.mark.parametrize("convert", [lambda t: t.to_sparse(), lambda t: t.to_sparse_csr()], ids=["coo", "csr"])
def test_statistics_of_sparse_tensors_count_what_is_not_stored(record, convert):
    for dense in (torch.tensor([[0.0, 3.0], [0.0, 1.0]]), torch.tensor([[-2, 0], [-4, 0]]), torch.zeros(2, 2)):
        assert statistics(described(record, convert(dense))) == statistics(described(record, dense))


def test_a_sparse_tensor_is_never_made_dense_for_its_statistics(record):
    huge = torch.sparse_coo_tensor(torch.tensor([[1, 1], [2, 2]]), torch.tensor([3.0, 1.0]), (10**7, 10**7))
    element = described(record, huge)
    assert statistics(element) == (4.0, 0.0, 4.0 / 10**14, 4.0)  # twice stored, once there
    assert element["shape"] == [10**7, 10**7]


def test_a_sparse_tensor_too_large_to_be_saved_is_told(configured, load_dump, tmp_path):
    debugger = configured("tensor")
    debugger.start()
    torch.clone(torch.sparse_coo_tensor(torch.tensor([[1], [2]]), torch.tensor([3.0]), (10**7, 10**7)))
    debugger.stop()
    debugger.step()
    dump = load_dump(tmp_path / "dump")
    element = dump.data["Torch.clone.0.forward"]["input_args"][0]
    assert statistics(element) == (None,) * 4 and "data_name" not in element
    assert "a sparse tensor of 100000000000000 elements is too large to be made dense" in dump.errors


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
def test_a_zero_keeps_its_sign(record, dtype):
    element = described(record, torch.tensor(-0.0, dtype=dtype))
    assert [str(value) for value in statistics(element)] == ["-0.0"] * 4


def test_complex_numbers_as_arguments(record):
    dump = record(lambda: torch.mul(torch.ones(2, dtype=torch.complex64), 1 - 2j))
    assert dump.data["Torch.mul.0.forward"]["input_args"][1] == {"type": "complex", "value": [1.0, -2.0]}
