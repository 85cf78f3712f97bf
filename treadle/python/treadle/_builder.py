"""Graphs written as programs: ops with effects run in the order of the program."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from . import _arguments as arguments
from ._errors import InvalidArgumentError, UnimplementedError
from ._native import Graph, Operation, Output, Variable, _Branches, _Builder, _Function, _Loop

Shape = Iterable["int | None"] | None

_index_op = "StridedSlice"


def _no_truth(value: Output | Variable) -> bool:
    raise TypeError(
        f"'{value.name}' has no value while the graph is written; decide with cond or switch_case, "
        "repeat with while_loop"
    )


def _no_iteration(value: Output | Variable) -> Iterator[Output]:
    raise TypeError(f"'{value.name}' can't be iterated while the graph is written; index it")


def _slice(value: Output | Variable, key: Any) -> Output:
    """value[key], where key has integers, slices, values of the graph, `...` and None."""
    parts = key if isinstance(key, tuple) else (key,)
    begin: list[Any] = []
    end: list[Any] = []
    strides: list[Any] = []
    masks = dict.fromkeys(("begin", "end", "ellipsis", "new_axis", "shrink_axis"), 0)

    def bound(mask: str, bounds: list[Any], given: Any, position: int) -> None:
        if given is None:
            masks[mask] |= 1 << position
        bounds.append(0 if given is None else given)

    for position, part in enumerate(parts):
        if isinstance(part, slice):
            bound("begin", begin, part.start, position)
            bound("end", end, part.stop, position)
            strides.append(1 if part.step is None else part.step)
            continue
        if part is None or part is Ellipsis:
            masks["new_axis" if part is None else "ellipsis"] |= 1 << position
            begin.append(0)
            end.append(0)
        else:
            if isinstance(part, bool) or not (
                isinstance(part, Output | Variable) or hasattr(part, "__index__")
            ):
                raise TypeError(f"an index is {part!r}, expected an integer, a slice, ... or None")
            masks["shrink_axis"] |= 1 << position
            begin.append(part)
            # From -1 on there is no end to name: -1 + 1 would be the first one.
            if not isinstance(part, Output | Variable) and operator.index(part) == -1:
                masks["end"] |= 1 << position
                end.append(0)
            else:
                end.append(part + 1)
        strides.append(1)
    attrs = {f"{name}_mask": mask for name, mask in masks.items() if mask}
    return value._builder._op(_index_op, [value, begin, end, strides], "", attrs, ())


for _type in (Output, Variable):
    _type.__bool__ = _no_truth
    _type.__iter__ = _no_iteration
    _type.__getitem__ = _slice
    _type.__array_ufunc__ = None  # numpy leaves `array + value` to the value


_AnyBody = TypeVar("_AnyBody", bound="_Body")


class _Body:
    """A body that is being written; its values are attributes, or items for any name."""

    __slots__ = ("_native",)

    def __init__(self, native: _Loop | _Branches) -> None:
        object.__setattr__(self, "_native", native)

    def __getitem__(self, name: str) -> Output:
        return self._native.get(name)

    def __setitem__(self, name: str, value: Any) -> None:
        self._native.set(name, value)

    def __getattr__(self, name: str) -> Output:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._native.get(name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._native.set(name, value)

    def __enter__(self: _AnyBody) -> _AnyBody:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Ends the body; after an exception it drops what was written."""
        if kind is not None:
            self._native.abandon()
            return
        try:
            self._native.end()
        except BaseException:
            self._native.abandon()
            raise


class Loop(_Body):
    """A while loop that is being written; made by Builder.while_loop.

    Its variables are its attributes. Before `condition` is called they have the values that each
    iteration begins with. In the body, set one to give it its value for the next iteration. After
    the loop they have their final values. loop["name"] works for any name.
    """

    __slots__ = ()
    _native: _Loop

    def condition(self, value: Output | bool) -> None:
        """Ends the condition, a scalar bool that is evaluated before each iteration."""
        self._native.condition(value)


class Branches(_Body):
    """A conditional that is being written; made by Builder.cond and Builder.switch_case.

    In a branch, setting an attribute gives a result: all branches give the same ones. After the
    conditional the attributes are the results of the branch that ran.
    """

    __slots__ = ("_cases",)
    _native: _Branches

    def __init__(self, native: _Branches, cases: list[object]) -> None:
        super().__init__(native)
        object.__setattr__(self, "_cases", cases)

    @contextmanager
    def _branch(self, case: object, expected: object) -> Iterator[None]:
        if case != expected:
            raise InvalidArgumentError(f"the branch for {case} is written where {expected} is next")
        self._cases.append(case)
        self._native.begin()
        yield
        self._native.end_branch()


class Conditional(Branches):
    """`with c.true(): ...`, then `with c.false(): ...`, which may be left out if nothing is set."""

    __slots__ = ()

    def true(self) -> Any:
        """The branch for true, a context manager; it comes first."""
        return self._branch("true", "true" if not self._cases else "false")

    def false(self) -> Any:
        """The branch for false, a context manager."""
        return self._branch("false", "false" if self._cases else "true")


class SwitchCase(Branches):
    """`with s.case(0): ...`, `with s.case(1): ...`, and so on.

    The last branch, which may be `with s.default(): ...`, is for all other numbers as well.
    """

    __slots__ = ()

    def case(self, number: int) -> Any:
        """The branch for a number, a context manager; numbers count from 0."""
        return self._branch(number, "no other" if "default" in self._cases else len(self._cases))

    def default(self) -> Any:
        """The branch for all other numbers, a context manager; it comes last."""
        return self._branch("default", "default" if "default" not in self._cases else "no other")


class Function:
    """A Python function as a function of the graph's library; made by Builder.function.

    It is called once for each combination of dtypes and shapes of its arguments, to write the body;
    calling it otherwise adds a node that calls the body. Variables, and values from outside that
    the body uses, go in with each call.
    """

    def __init__(
        self, builder: Builder, fn: Callable[..., Any], signature: Mapping[str, Any] | None
    ) -> None:
        self._builder, self._fn = builder, fn
        self._signature = inspect.signature(fn)
        self._written: dict[Any, tuple[_Function, Any]] = {}
        self._writing: set[Any] = set()
        self.__name__ = getattr(fn, "__name__", "function")
        self.__doc__ = fn.__doc__
        self._stated: dict[str, tuple[Any, Any]] | None = None
        if signature is not None:
            if set(signature) != set(self._signature.parameters):
                raise TypeError(
                    f"{self.__name__}() has the parameters {list(self._signature.parameters)}, and "
                    f"those that are stated are {list(signature)}"
                )
            self._stated = {
                name: spec if isinstance(spec, tuple) else (spec, ())
                for name, spec in signature.items()
            }
            self._body_for({n: self._stated[n] for n in self._signature.parameters})

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Adds a call. Gives what the Python function returns: a value, a tuple, a dict or None."""
        native = self._builder._native
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        given = dict(bound.arguments)
        if self._stated is None:
            for name, value in given.items():
                if not isinstance(value, Output | Variable):
                    given[name] = native._constant(value, None, "")
        specs = {
            name: self._stated[name]
            if self._stated is not None
            else value
            if isinstance(value, Variable)
            else (value.dtype, value.shape)
            for name, value in given.items()
        }
        function, structure = self._body_for(specs)
        values = [v for n, v in given.items() if not isinstance(specs[n], Variable)]
        return _restored(structure, native._call(function, values, ""))

    def _body_for(self, specs: dict[str, Any]) -> tuple[_Function, Any]:
        key = tuple((n, id(s) if isinstance(s, Variable) else s) for n, s in specs.items())
        key = repr(key)
        if key in self._written:
            return self._written[key]
        if key in self._writing:
            raise UnimplementedError(f"function '{self.__name__}' calls itself")
        arguments = [(n, *s) for n, s in specs.items() if not isinstance(s, Variable)]
        function = self._builder._native._function(self.__name__, arguments)
        self._writing.add(key)
        try:
            inner = iter(function.arguments)
            values = {n: s if isinstance(s, Variable) else next(inner) for n, s in specs.items()}
            bound = self._signature.bind_partial()
            bound.arguments.update(values)
            results = self._fn(*bound.args, **bound.kwargs)
            structure, flat = _flattened(results, self.__name__)
            function.end(flat)
        except BaseException:
            function.abandon()
            raise
        finally:
            self._writing.discard(key)
        self._written[key] = function, structure
        return self._written[key]


def _flattened(results: Any, name: str) -> tuple[Any, list[Any]]:
    """The structure of what a function returns (None, "one", a number or names), and its values."""
    if results is None or isinstance(results, Operation):
        return None, []
    if isinstance(results, dict):
        return tuple(results), list(results.values())
    if isinstance(results, tuple | list):
        return len(results), list(results)
    return "one", [results]


def _restored(structure: Any, called: tuple[Operation, list[Output]]) -> Any:
    node, values = called
    if structure is None:
        return node
    if structure == "one":
        return values[0]
    return (
        tuple(values) if isinstance(structure, int) else dict(zip(structure, values, strict=True))
    )


class Builder:
    """A graph that is being written.

    Calls add nodes in their order. Ops with effects (assignments, reads of variables, printing,
    Python, random numbers) run in that order wherever they conflict, also in loops, conditionals
    and functions. Shapes and dtypes are checked at each call.

    >>> g = treadle.Builder()
    >>> total = g.variable("total", 0.0)
    >>> with g.while_loop(i=0) as loop:
    ...     loop.condition(loop.i < 4)
    ...     total.assign_add(g.cast(loop.i, "float32"))
    ...     loop.i += 1
    >>> y = g.op("Identity", [total], name="y")
    >>> session = treadle.Session(g.build())
    >>> session.run([], targets=["init"])
    []
    >>> session.run("y")
    array(6., dtype=float32)
    """

    #: The node that gives all variables their first values.
    init = "init"

    def __init__(self) -> None:
        self._native = _Builder()

    def placeholder(self, name: str, dtype: Any = "float32", shape: Shape = None) -> Output:
        """A value that runs are fed with.

        >>> x = g.placeholder("x", "float32", [None, 3])
        """
        dims = arguments.shape(shape, "shape")
        return self._native._placeholder(arguments.name(name, "name"), dtype, dims)

    def constant(self, value: Any, dtype: Any = None, *, name: str = "") -> Output:
        """A constant. Python's numbers are int32 and float32 unless `dtype` says otherwise.

        >>> c = g.constant([1, 2, 3], "int64")
        """
        return self._native._constant(value, dtype, name)

    def variable(
        self,
        name: str,
        init: Any = None,
        *,
        dtype: Any = None,
        shape: Shape = None,
    ) -> Variable:
        """A resource variable.

        Args:
            init: its first value, which the node `init` of the graph gives it: numbers, an array,
                or a function that makes it of nodes, which run with `init` alone.
            dtype: of Python's numbers; without `init` that of the variable.
            shape: without `init`, when the variable has to be assigned to before it is read.

        >>> w = g.variable("w", lambda: g.op("RandomUniform", [[3, 2]], dtype="float32"))
        """
        if init is None and dtype is None:
            raise TypeError(f"variable '{name}' has neither init nor dtype")
        dims = arguments.shape(shape, "shape")
        return self._native._variable(arguments.name(name, "name"), init, dtype, dims)

    def op(
        self,
        op: str,
        inputs: Iterable[Any] = (),
        *,
        name: str = "",
        outputs: Iterable[Any] = (),
        attrs: Mapping[str, Any] | None = None,
        **more_attrs: Any,
    ) -> Any:
        """Adds a node of any op.

        Args:
            inputs: values, variables (which are read, unless the op takes a handle), numbers and
                arrays (which become constants of the dtype that the op wants). An input that is a
                list can be given as a list, or its elements one by one.
            name: within the scope; made from the op where it isn't given.
            outputs: dtypes, for an op that only the session knows.
            attrs, more_attrs: attributes; types and numbers that inputs tell may be left out.

        Returns:
            The output; a tuple of several, or of an output that is a list; the Operation of a node
            without outputs.

        >>> c = g.op("Einsum", [a, b], equation="ij,jk->ik")
        >>> values, indices = g.op("TopKV2", [x, 3])
        """
        arguments.name(op, "op")
        values = arguments.several(inputs, f"inputs of {op}", (Output, Variable))
        given = {**arguments.mapping(attrs, "attrs"), **more_attrs}
        return self._native._op(op, values, name, given, arguments.several(outputs, "outputs"))

    def cast(self, value: Any, dtype: Any) -> Output:
        """The value in another dtype.

        >>> g.cast(loop.i, "float32")
        """
        return self._native._cast(value, dtype)

    def print(self, *values: Any, stream: str = "stdout") -> Operation:
        """Prints a line whenever it runs: texts as they are, values of the graph as arrays.

        >>> g.print("step", loop.i)
        """
        shown = [v for v in values if not isinstance(v, str)]
        marks = ["{}" if not isinstance(v, str) else v for v in values]
        attrs = {"template": " ".join(marks), "placeholder": "{}"}
        line = self._native._op("StringFormat", shown, "", attrs, [])
        return self._native._op("PrintV2", [line], "", {"output_stream": stream}, [])

    def while_loop(
        self,
        *,
        name: str = "",
        shapes: Mapping[str, Shape] | None = None,
        parallel_iterations: int = 10,
        variables: Mapping[str, Any] | None = None,
        **more_variables: Any,
    ) -> Loop:
        """A while loop, as a context manager whose attributes are the loop's variables.

        Args:
            variables, more_variables: the loop variables and their first values.
            shapes: of variables whose shape changes: what all their values have in common.
            parallel_iterations: how many iterations may run at the same time.

        >>> with g.while_loop(i=0, total=x, shapes={"total": [None]}) as loop:
        ...     loop.condition(loop.i < 10)
        ...     loop.total = g.op("ConcatV2", [[loop.total, x], 0])
        ...     loop.i += 1
        >>> loop.total  # what the last iteration left
        """
        taken = {**arguments.mapping(variables, "variables"), **more_variables}
        if "condition" in taken:
            raise TypeError("'condition' is a method of loops; give the variable another name")
        stated = arguments.mapping(shapes, "shapes")
        given = {n: arguments.shape(s, f"shapes['{n}']") for n, s in stated.items()}
        if unknown := set(given) - set(taken):
            raise TypeError(f"a shape is stated for {sorted(unknown)}, which the loop doesn't have")
        return Loop(self._native._while_loop(name, taken, given, parallel_iterations))

    def cond(self, predicate: Any, *, name: str = "") -> Conditional:
        """A conditional, as a context manager.

        >>> with g.cond(x > 0.0) as c:
        ...     with c.true():
        ...         c.y = x * 2.0
        ...     with c.false():
        ...         c.y = -x
        >>> c.y
        """
        return Conditional(self._native._cond(predicate, name), [])

    def switch_case(self, index: Any, *, name: str = "") -> SwitchCase:
        """A choice by number, as a context manager.

        >>> with g.switch_case(n) as s:
        ...     with s.case(0):
        ...         s.y = x
        ...     with s.default():
        ...         s.y = x * 2.0
        >>> s.y
        """
        return SwitchCase(self._native._switch_case(index, name), [])

    def function(self, fn: Callable[..., Any] | None = None, /, **signature: Any) -> Any:
        """Makes a Python function a function of the graph, as a decorator.

        Without arguments its body is written for each combination of dtypes and shapes that it is
        called with. With a dtype, or a tuple of dtype and shape, for each parameter it is written
        at once, and once; a dtype alone is that of a scalar.

        >>> @g.function
        ... def scaled(x, n):
        ...     return x * n
        >>> @g.function(x=("float32", [None]), n="float32")
        ... def scaled_vector(x, n):
        ...     return x * n
        """
        if fn is not None:
            return Function(self, fn, None)

        def made(fn: Callable[..., Any]) -> Function:
            specs = {
                n: (s[0], arguments.shape(s[1], f"the shape of {n}"))
                if isinstance(s, tuple) and len(s) == 2
                else s
                for n, s in signature.items()
            }
            return Function(self, fn, specs)

        return made

    def gradients(self, ys: Any, xs: Any, grad_ys: Any = ()) -> Any:
        """The gradients of the sum of all ys with respect to each x; None where none depends on it.

        They go through calls, conditionals and loops, nested ones too. An x that is a variable
        stands for all that is read of it.

        Args:
            ys, xs: a value or a list of them.
            grad_ys: what flows from each y, of its shape; ones where there are none.

        Returns:
            A list where xs is one.

        >>> dw, db = g.gradients(loss, [w, b])
        >>> w.assign_sub(0.1 * dw)
        """
        many = [list(v) if isinstance(v, list | tuple) else [v] for v in (ys, xs, grad_ys)]
        found = self._native._gradients(*many)
        return found if isinstance(xs, list | tuple) else found[0]

    def group(self, operations: Iterable[Operation | Output], *, name: str = "") -> Operation:
        """A node that does nothing once these have run: a target for runs.

        >>> step = g.group([v.assign_add(1.0), w.assign(x)], name="step")
        """
        waited = arguments.several(operations, "operations", (Operation, Output))
        return self._native._group(waited, name)

    def effects(self, *, name: str = "") -> Operation:
        """A node that does nothing once all that was written before and has effects has run.

        >>> g.effects(name="step")  # session.run([], feeds, targets=["step"])
        """
        return self._native._effects(name)

    @contextmanager
    def scope(self, name: str) -> Iterator[None]:
        """Names of nodes that are added in it begin with `name/`.

        >>> with g.scope("encoder"):
        ...     w = g.variable("w", 0.0)  # encoder/w
        """
        self._native._push_scope(name)
        try:
            yield
        finally:
            self._native._pop_scope()

    @contextmanager
    def control_dependencies(self, operations: Iterable[Operation | Output]) -> Iterator[None]:
        """Nodes that are added in it wait for these, beside what they wait for anyway.

        >>> with g.control_dependencies([checked]):
        ...     y = x * 2.0
        """
        waited = arguments.several(operations, "operations", (Operation, Output))
        self._native._push_control(waited)
        try:
            yield
        finally:
            self._native._pop_control()

    def build(self) -> Graph:
        """The graph as it is now, with its effects in order. The builder can go on.

        >>> session = treadle.Session(g.build())
        """
        return self._native._build()
