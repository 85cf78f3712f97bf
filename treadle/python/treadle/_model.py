"""SavedModels and programs that are ready to be called."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import _arguments as arguments
from ._errors import MissingKeyError, UnimplementedError
from ._native import Session, _did_you_mean, _Model, _Sandbox

if TYPE_CHECKING:
    from . import Value


class _ByName(dict):
    """The items of `owner` by name; the error for an unknown name lists the `kind`s that exist."""

    def __init__(self, values: Mapping[str, Any], owner: str, kind: str) -> None:
        super().__init__(values)
        self._owner, self._kind = owner, kind

    def __missing__(self, name: object) -> Any:
        names = ", ".join(f"'{key}'" for key in self) or "none"
        raise MissingKeyError(
            f"{self._owner} has no {self._kind} '{name}'{_did_you_mean(str(name), list(self))}; its"
            f" {self._kind}s are {names}"
        )


class Signature:
    """A signature of a model: call it with arrays by name.

    `inputs` and `outputs` are dicts of Value(name, dtype, shape) by key; the name of a value is the
    tensor in the model's graph. A ragged tensor `x` has several keys, `x.values` and
    `x.row_splits`, and a sparse one `x.indices`, `x.values` and `x.dense_shape`.
    """

    __slots__ = ("_arguments", "_model", "inputs", "name", "outputs")

    def __init__(
        self,
        model: _Model | _Sandbox,
        name: str,
        inputs: dict[str, Value],
        outputs: dict[str, Value],
        arguments: list[str],
    ) -> None:
        self._model, self.name, self._arguments = model, name, arguments
        self.inputs: Mapping[str, Value] = self._by_name(inputs, "input")
        self.outputs: Mapping[str, Value] = self._by_name(outputs, "output")

    def _by_name(self, values: dict[str, Value], kind: str) -> Mapping[str, Value]:
        return MappingProxyType(_ByName(values, f"signature '{self.name}'", kind))

    def __call__(self, /, *values: Any, **inputs: Any) -> dict[str, Any]:
        """Calls the signature; returns all of its outputs by key: arrays, RaggedTensors and
        SparseTensors.

        values: the first inputs, in the order of `inputs`.
        inputs: arrays with the dtype and shape in `inputs`, or a dtype that numpy converts to it
        without loss, or Python numbers, strings, bytes and lists of them. For a ragged input a
        RaggedTensor, a dict of its components or lists of different lengths, for a sparse one a
        SparseTensor or a dict; TensorFlow's classes are accepted too. Raises InvalidArgumentError
        for a missing or unknown input, or a wrong dtype or shape, and the errors of ops. Ctrl-C
        cancels the call.
        """
        if len(values) > len(self._arguments):
            raise TypeError(f"{len(values)} values for {len(self._arguments)} inputs of {self!r}")
        for key, value in zip(self._arguments, values, strict=False):
            if key in inputs:
                raise TypeError(f"input '{key}' is passed both by position and by name")
            inputs[key] = value
        return self._model.call(self.name, inputs)

    def __repr__(self) -> str:
        def text(values: Mapping[str, Value]) -> str:
            return ", ".join(f"{key}: {_type_text(value)}" for key, value in values.items())

        return f"<treadle.Signature '{self.name}' ({text(self.inputs)}) -> ({text(self.outputs)})>"


class _Functions(_ByName):
    """Functions by name; other paths and aliases are accepted too."""

    def __init__(self, native: _Model, values: Mapping[str, Any]) -> None:
        super().__init__(values, "the model", "function")
        self._native = native

    def __missing__(self, name: object) -> Any:
        found = self._native.function_name(str(name))
        return self[found] if found else super().__missing__(name)


class Variant(NamedTuple):
    """A concrete function: the tensors by name, and other arguments with their values.

    fixed: by name, the value in Python's notation, and whether calls may omit it. problem: the
    reason why the variant can't be called, or "".
    """

    name: str
    inputs: dict[str, Value]
    fixed: dict[str, tuple[str, bool]]
    outputs: dict[str, Value]
    problem: str


class Function:
    """A function of a model's objects: call it as in Python.

    `variants` has its concrete functions; the arguments of a call select one of them.
    """

    __slots__ = ("_composites", "_model", "arguments", "name", "variants")

    def __init__(
        self,
        model: _Model,
        name: str,
        arguments: list[str],
        variants: list[Any],
        composites: set[str],
    ) -> None:
        self._model, self.name, self.arguments = model, name, tuple(arguments)
        self._composites = composites
        self.variants = tuple(Variant(*variant) for variant in variants)

    def __call__(self, /, *values: Any, **arguments: Any) -> Any:
        """Calls the function; returns arrays, nested in tuples, lists and dicts like the function's
        results.

        Arguments and results are as in Signature, also in dicts, lists and tuples. Raises
        InvalidArgumentError, with the variants, if none or several accept the arguments,
        UnimplementedError for a variant that can't be called, and the errors of ops. Ctrl-C cancels
        the call.
        """
        flat: dict[str, Any] = {}
        for place, value in enumerate(values):
            name = self._name_at(place)
            if name in arguments:
                raise TypeError(f"argument '{name}' is passed both by position and by name")
            self._flatten(name, value, flat)
        for name, value in arguments.items():
            self._flatten(name, value, flat)
        return self._model.call_function(self.name, flat)

    def _names(self) -> set[str]:
        return {name for variant in self.variants for name in (*variant.inputs, *variant.fixed)}

    def _name_at(self, place: int) -> str:
        """Returns the name of a positional argument; those of `*rest` follow the named ones:
        `rest_0`, `rest_1`."""
        if place < len(self.arguments):
            return self.arguments[place]
        others = [name for variant in self.variants for name in variant.inputs]
        rest = place - len(self.arguments)
        found = next((name for name in others if name.endswith(f"_{rest}")), None)
        if found is None:
            raise TypeError(f"{place + 1} values for {len(self.arguments)} arguments of {self!r}")
        return found

    def _flatten(self, name: str, value: Any, flat: dict[str, Any]) -> None:
        """Flattens nested arguments. A list is one tensor if the function has a tensor of this
        name."""
        parts = None
        if name in self._composites:
            flat[name] = value
            return
        if isinstance(value, Mapping):
            parts = value.items()
        elif isinstance(value, list | tuple) and name not in self._names():
            parts = enumerate(value)
        if parts is None:
            flat[name] = value
            return
        for key, part in parts:
            self._flatten(f"{name}_{key}", part, flat)

    def __repr__(self) -> str:
        def text(variant: Variant) -> str:
            inputs = [f"{key}: {_type_text(value)}" for key, value in variant.inputs.items()]
            inputs += [f"{key}={value}" for key, (value, _) in variant.fixed.items()]
            return f"({', '.join(inputs)})"

        return f"<treadle.Function '{self.name}' {' or '.join(map(text, self.variants))}>"


def _type_text(value: Value) -> str:
    if value.shape is None:
        return value.dtype
    return f"{value.dtype}[{', '.join('?' if d is None else str(d) for d in value.shape)}]"


class SandboxStatus(NamedTuple):
    """The state of a model's sandbox.

    landlock: the version of Landlock, which the kernel uses to guard files; 0: not available, and
    the process guards files itself. start, load: seconds for confining the process, and for
    loading. end: how the process ended; empty while it runs.
    """

    landlock: int
    start: float
    load: float
    end: str


class Model:
    """A SavedModel with restored variables and initialized tables; see treadle.load.

    As thread-safe as a Session: calls see the changes of variables by other calls.
    """

    __slots__ = ("_functions", "_native", "signatures")

    def __init__(self, native: _Model | _Sandbox) -> None:
        self._native = native
        self._functions: Mapping[str, Function] | None = None
        self.signatures: Mapping[str, Signature] = MappingProxyType(
            _ByName(
                {
                    name: Signature(native, name, *parts)
                    for name, parts in native.signatures().items()
                },
                "the model",
                "signature",
            )
        )

    @property
    def functions(self) -> Mapping[str, Function]:
        """The functions of the model's objects, by the path from the root object.

        UnimplementedError for a model in a sandbox.
        """
        if isinstance(self._native, _Sandbox):
            raise UnimplementedError(
                "calling functions of a model in a sandbox is not supported yet"
            )
        if self._functions is None:
            found = {
                name: Function(self._native, name, *parts)
                for name, parts in self._native.functions().items()
            }
            self._functions = MappingProxyType(_Functions(self._native, found))
        return self._functions

    @property
    def session(self) -> Session:
        """The session that holds the model's state, for tensors that no signature returns."""
        return self._native.session()

    @property
    def sandbox(self) -> SandboxStatus | None:
        """The state of the sandbox, if the model was loaded with sandbox=True."""
        return self._native.status() if isinstance(self._native, _Sandbox) else None

    def variables(self) -> dict[str, np.ndarray]:
        """Returns the values of the variables: a dict of read-only arrays by name."""
        return self.session.variables()

    def save(self, folder: str | os.PathLike[str] | None = None) -> None:
        """Writes the current values of the variables.

        Without a folder, to the checkpoint that they were restored from, which is replaced
        atomically; otherwise the whole model, to a new or an empty folder. FailedPreconditionError
        if the model has no saver.
        """
        self._native.save(folder)

    def __reduce__(self) -> Any:
        raise TypeError(
            "a Model can't be pickled: its state belongs to this process; call treadle.load(path) "
            "in each process"
        )

    def __repr__(self) -> str:
        return f"<treadle.Model with signatures {', '.join(self.signatures) or 'none'}>"


def load(
    path: str | os.PathLike[str],
    tags: str | Iterable[str] = (),
    *,
    threads: int | None = None,
    cores: Iterable[int] | None = None,
    tier: str = "auto",
    loop_overlap: str = "auto",
    timeout: float | None = None,
    statistics: bool = False,
    trace: bool = False,
    fast_math: bool = False,
    denormals: str = "flush",
    memory: int | None = None,
    allow_read: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    allow_write: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    allow_clock: bool = False,
    sandbox: bool = False,
) -> Model:
    """Loads a SavedModel: restores its variables and runs its initialization.

    A StableHLO or MHLO program (.mlir) has one signature, its function "main". A program of
    torch.export.save (.pt2) is read without PyTorch, and has the signature "serving_default".

    Args:
        path: the model's folder, a converted .mlir file, a .tfg file, or a program.
        tags: the tags of the meta graph, if there are several; default: "serve" or the only one.
        threads, cores, tier, loop_overlap, timeout, statistics, trace, fast_math, denormals,
            memory, allow_read, allow_write, allow_clock: as in Session, for all calls.
        sandbox: whether to load and run the model in a separate process that can do nothing but
            compute (docs/security.md). Its signatures can be called; its session, variables and
            save raise FailedPreconditionError, statistics and trace ValueError. Calls raise
            UnavailableError, with the reason, once that process has exited.

    Raises NotFoundError for a missing folder, meta graph, checkpoint or asset that the
    initialization reads, InvalidArgumentError for a graph that isn't a SavedModel's or a path that
    leaves the folder, DataLossError for a corrupted checkpoint. After an error nothing is loaded.
    """
    wanted = arguments.names(tags, "tags")
    if sandbox and (statistics or trace):
        raise ValueError("statistics and trace are not available for a model in a sandbox")
    how = (threads, None if cores is None else list(cores), tier, loop_overlap, timeout)
    grants = (memory, allow_read, allow_write, allow_clock)
    with _as_model(path) as file:
        if sandbox:
            return Model(_Sandbox(file, wanted, *how, fast_math, denormals, *grants))
        return Model(_Model(file, wanted, *how, statistics, trace, fast_math, denormals, *grants))


def _as_model(path: str | os.PathLike[str]) -> AbstractContextManager[Any]:
    """Returns the file to load; converts a program of PyTorch to a model."""
    if not os.fspath(path).endswith(".pt2"):
        return nullcontext(path)
    from ._aten import _files

    return _files.as_model(path) if _files.is_program(path) else nullcontext(path)
