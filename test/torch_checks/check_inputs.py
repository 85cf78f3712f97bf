"""The arguments of from_fx: modules, exported programs, functions, and inputs in all forms."""

import functools

import numpy as np
import pytest
import torch
from torch import nn

import treadle

x = torch.arange(12, dtype=torch.float32).reshape(3, 4) / 10


@pytest.fixture
def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(inplace=True)).eval()


class Nested(nn.Module):
    def forward(self, data, *, scale=1.0, more=None):
        out = data["a"] - data["b"][0] * scale
        return {"out": out, "pair": (out.sum(), [data["b"][0]])}


def check(program, model, *args, **kwargs):
    torch.testing.assert_close(program(*args, **kwargs), model(*args, **kwargs))


GIVEN = {
    "module": lambda m: m,
    "graph module": torch.fx.symbolic_trace,
    "exported program": lambda m: torch.export.export(m, (x,)),
    "its module": lambda m: torch.export.export(m, (x,)).module(),
    "compiled": torch.compile,
    "script": torch.jit.script,
    "trace": lambda m: torch.jit.trace(m, x),
    "method": lambda m: m.forward,
    "partial": functools.partial,
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("kind", GIVEN)
def test_modules_of_all_kinds(kind, model):
    given = GIVEN[kind](model)
    for examples in (x, [x], (x,), x.numpy(), [x.numpy()]):
        check(treadle.from_fx(given, examples), model, x)


def test_functions():
    check(treadle.from_fx(lambda a, b: a @ b, [x, x.T]), torch.matmul, x, x.T)
    check(treadle.from_fx(torch.relu, x), torch.relu, x)


def test_a_tensor_in_two_places_is_two_arguments():
    program = treadle.from_fx(lambda a, b: a - b, [x, x])
    check(program, torch.sub, x, torch.ones(3, 4))


def test_modules_without_inputs():
    class Weight(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(3))

        def forward(self):
            return self.w * 2

    for examples in ({}, [], (), None):
        check(treadle.from_fx(Weight(), examples), Weight())


def test_arguments_are_nested_and_named():
    data = {"a": x, "b": [x]}
    for examples in ([data], {"data": data}):
        program = treadle.from_fx(Nested(), examples)
        assert program.inputs == {"data_a:0": 0, "data_b_0:0": 1}
        check(program, Nested(), {"a": x, "b": [x + 1]})
        check(program, Nested(), data=data)
    with pytest.raises(
        TypeError, match=r"are \(\{'a': \*\}\), expected \(\{'a': \*, 'b': \[\*\]\}"
    ):
        program({"a": x})


def test_numbers_are_part_of_the_graph():
    data = {"a": x, "b": [x]}
    program = treadle.from_fx(Nested(), {"data": data, "scale": 2.0})
    check(program, Nested(), data, scale=2.0)
    with pytest.raises(
        treadle.InvalidArgumentError, match="is 3.0, but the graph was traced for 2.0"
    ):
        program(data, scale=3.0)
    tensor = treadle.from_fx(Nested(), {"data": data, "scale": torch.tensor(2.0)})
    check(tensor, Nested(), data, scale=torch.tensor(3.0))


def test_an_exported_program_needs_no_inputs(model):
    check(treadle.from_fx(torch.export.export(model, (x,))), model, x)
    frozen = treadle.from_fx(torch.export.export(model, (x,)), freeze=True)
    assert list(frozen.inputs.values()) == [0]
    data = {"a": x, "b": [x + 1]}
    nested = torch.export.export(Nested(), (data,), {"scale": 2.0})
    check(treadle.from_fx(nested), Nested(), {"a": x, "b": [x + 2]}, scale=2.0)


@pytest.mark.parametrize("kind", ["program", "module"])
def test_dynamic_shapes_are_kept(kind, model):
    dims = ({0: torch.export.Dim("batch")},)
    exported = torch.export.export(model, (x,), dynamic_shapes=dims)
    given = exported if kind == "program" else exported.module()
    program = treadle.from_fx(given, [x])
    for rows in (2, 3, 50):
        check(program, model, torch.randn(rows, 4))
    with pytest.raises(treadle.InvalidArgumentError, match=r"float32\[2,5\].*\[\?,4\]"):
        program(torch.randn(2, 5))


class Cast(nn.Module):
    """The conversion leaves an assertion in an exported program."""

    def forward(self, a, b):
        return a["x"].to(torch.float32) * 2 - b


@pytest.mark.parametrize("named", [(), ("b",), ("b", "a")])
@pytest.mark.parametrize("dynamic", [False, True])
def test_exported_arguments_in_dicts_and_by_name(named, dynamic):
    rows = torch.export.Dim("rows")
    values = {"a": {"x": x}, "b": x + 1}
    args = tuple(v for name, v in values.items() if name not in named)
    kwargs = {name: values[name] for name in named}
    shapes = {"a": {"x": {0: rows}}, "b": {0: rows}} if dynamic else None
    exported = torch.export.export(Cast(), args, kwargs, dynamic_shapes=shapes)
    for examples in (None, args or kwargs):
        program = treadle.from_fx(exported, examples)
        check(program, Cast(), *args, **kwargs)
        check(program, Cast(), *args, **dict(reversed(kwargs.items())))
        if dynamic:
            check(program, Cast(), a={"x": torch.ones(7, 4)}, b=torch.ones(7, 4))


def test_state_changes_and_changes_are_seen():
    norm = nn.BatchNorm1d(4).train()
    exported = torch.export.export(norm, (x,))
    program = treadle.from_fx(exported)
    program(x)
    want = nn.BatchNorm1d(4).train()
    want(x)
    torch.testing.assert_close(exported.module().state_dict(), want.state_dict())
    linear = nn.Linear(4, 2)
    program = treadle.from_fx(linear, x)
    with torch.no_grad():
        linear.weight.zero_()
        linear.bias.fill_(3.0)
    torch.testing.assert_close(program(x), torch.full((3, 2), 3.0))


class Decides(nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else -x


WRONG = {
    "path": (lambda m: ("model.pt2", [x]), TypeError, r"of type str.*torch\.export\.load"),
    "state": (lambda m: (m.state_dict(), [x]), TypeError, "OrderedDict.*load_state_dict"),
    "class": (lambda m: (nn.ReLU, [x]), TypeError, r"the class ReLU.*ReLU\(\)"),
    "graph": (lambda m: (torch.fx.symbolic_trace(m).graph, [x]), TypeError, "Graph.*GraphModule"),
    "nothing": (lambda m: (None, [x]), TypeError, "NoneType, expected a module"),
    "a number": (lambda m: (m, 3), TypeError, "example_inputs has type int, expected a list"),
    "a text": (lambda m: (m, "x"), TypeError, "example_inputs has type str"),
    "too few": (lambda m: (m, []), TypeError, r"missing a required.*'input'.*takes \(input\)"),
    "too many": (lambda m: (m, [x, x]), TypeError, r"too many positional.*takes \(input\)"),
    "no such name": (lambda m: (m, {"y": x}), TypeError, r"'input'.*takes \(input\)"),
    "a shape": (lambda m: (m, [x.T]), treadle.InvalidArgumentError, "'Sequential' can't be traced"),
    "elements": (
        lambda m: (Decides(), x),
        treadle.UnimplementedError,
        "'Decides' branches on.*cond",
    ),
}


@pytest.mark.parametrize("kind", WRONG)
def test_what_it_can_not_be_given(kind, model):
    given, error, message = WRONG[kind]
    with pytest.raises(error, match=message):
        treadle.from_fx(*given(model))


def test_a_projected_lstm_of_any_batch():
    module, batch = nn.LSTM(4, 3, proj_size=2), torch.export.Dim("b")
    given = (torch.ones(2, 5, 4),)
    program = treadle.from_fx(torch.export.export(module, given, dynamic_shapes=({1: batch},)))
    for size in (1, 5, 7):
        x = torch.randn(2, size, 4)
        torch.testing.assert_close(program(x), module(x))


def test_calls_that_do_not_fit(model):
    program = treadle.from_fx(model, x)
    for args, kwargs, error, message in (
        ((), {}, TypeError, "missing a required argument: 'input'"),
        ((x, x), {}, TypeError, "too many positional arguments"),
        ((), {"y": x}, TypeError, "'input'"),
        ((x.double(),), {}, treadle.InvalidArgumentError, "float64"),
        ((np.ones((5, 4), np.float32),), {}, treadle.InvalidArgumentError, r"\[5,4\]"),
    ):
        with pytest.raises(error, match=message):
            program(*args, **kwargs)
