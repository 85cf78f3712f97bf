"""Building graphs in Python: ops with side effects run in program order."""

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
        f"'{value.name}' has no value while the graph is built; use cond, switch_case or while_loop"
    )


def _no_iteration(value: Output | Variable) -> Iterator[Output]:
    raise TypeError(f"'{value.name}' can't be iterated while the graph is built; index it")


def _slice(value: Output | Variable, key: Any) -> Output:
    """Computes value[key], where key has integers, slices, values of the graph, `...` and None."""
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
            # A slice of the element -1 has no end index, since -1 + 1 would be the first element.
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
    _type.__array_ufunc__ = None  # makes numpy defer `array + value` to the value


_AnyBody = TypeVar("_AnyBody", bound="_Body")


class _Body:
    """A body under construction; its values are attributes, or items for arbitrary names."""

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
        """Ends the body; after an exception, discards it."""
        if kind is not None:
            self._native.abandon()
            return
        try:
            self._native.end()
        except BaseException:
            self._native.abandon()
            raise


class Loop(_Body):
    """A while loop under construction; created by Builder.while_loop.

    Its variables are its attributes. Before `condition` is called they have their values at the
    start of an iteration. In the body, set one to assign its value for the next iteration. After
    the loop they have their final values. loop["name"] works for any name.
    """

    __slots__ = ()
    _native: _Loop

    def condition(self, value: Output | bool) -> None:
        """Ends the condition, a scalar bool that is evaluated before each iteration."""
        self._native.condition(value)


class Branches(_Body):
    """A conditional under construction; created by Builder.cond and Builder.switch_case.

    In a branch, setting an attribute sets a result; all branches must set the same ones. After the
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
            raise InvalidArgumentError(f"the branch for {case} was added, but {expected} is next")
        self._cases.append(case)
        self._native.begin()
        yield
        self._native.end_branch()


class Conditional(Branches):
    """`with c.true(): ...`, then `with c.false(): ...`, which may be omitted if nothing is set."""

    __slots__ = ()

    def true(self) -> Any:
        """Returns the context manager of the true branch, which comes first."""
        return self._branch("true", "true" if not self._cases else "false")

    def false(self) -> Any:
        """Returns the context manager of the false branch."""
        return self._branch("false", "false" if self._cases else "true")


class SwitchCase(Branches):
    """`with s.case(0): ...`, `with s.case(1): ...`, and so on.

    The last branch, which may be `with s.default(): ...`, also runs for all other indices.
    """

    __slots__ = ()

    def case(self, number: int) -> Any:
        """Returns the context manager of the branch for an index; indices start at 0."""
        return self._branch(number, "no other" if "default" in self._cases else len(self._cases))

    def default(self) -> Any:
        """Returns the context manager of the branch for all other indices, which comes last."""
        return self._branch("default", "default" if "default" not in self._cases else "no other")


class Function:
    """A Python function as a function of the graph's library; created by Builder.function.

    It is called once for each combination of dtypes and shapes of its arguments, to build the body;
    each further call adds a node that calls the body. Variables and outer values that the body uses
    are passed with each call.
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
                    f"{self.__name__}() has the parameters {list(self._signature.parameters)}, "
                    f"but the stated ones are {list(signature)}"
                )
            self._stated = {
                name: spec if isinstance(spec, tuple) else (spec, ())
                for name, spec in signature.items()
            }
            self._body_for({n: self._stated[n] for n in self._signature.parameters})

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Adds a call. Returns values in the structure of the Python function's result: a value, a
        tuple, a dict or None."""
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
    """Returns the structure of a function's result (None, "one", a number or names), and its
    values."""
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

    #: The node that initializes all variables.
    init = "init"

    def __init__(self) -> None:
        self._native = _Builder()

    def placeholder(self, name: str, dtype: Any = "float32", shape: Shape = None) -> Output:
        """Adds a placeholder, which must be fed.

        >>> x = g.placeholder("x", "float32", [None, 3])
        """
        dims = arguments.shape(shape, "shape")
        return self._native._placeholder(arguments.name(name, "name"), dtype, dims)

    def constant(self, value: Any, dtype: Any = None, *, name: str = "") -> Output:
        """Adds a constant. Python numbers become int32 and float32 unless `dtype` is given.

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
        """Adds a resource variable.

        Args:
            init: its initial value, assigned by the node `init` of the graph: numbers, an array, or
                a function that builds it from nodes, which run with `init` only.
            dtype: the dtype of Python numbers; without `init`, that of the variable.
            shape: the shape without `init`; then the variable must be assigned before it is read.

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
        """Adds a node with any op.

        Args:
            inputs: values, variables (which are read, unless the op takes a handle), numbers and
                arrays (which become constants of the dtype that the op requires). An input that is
                a list can be passed as a list, or as separate elements.
            name: the name within the scope; derived from the op by default.
            outputs: the dtypes of the outputs, for an op that only the session knows.
            attrs, more_attrs: attributes; types and counts that inputs determine may be omitted.

        Returns:
            The output; a tuple if there are several, or if an output is a list; the Operation for a
            node without outputs.

        >>> c = g.op("Einsum", [a, b], equation="ij,jk->ik")
        >>> values, indices = g.op("TopKV2", [x, 3])
        """
        arguments.name(op, "op")
        values = arguments.several(inputs, f"inputs of {op}", (Output, Variable))
        given = {**arguments.mapping(attrs, "attrs"), **more_attrs}
        return self._native._op(op, values, name, given, arguments.several(outputs, "outputs"))

    def cast(self, value: Any, dtype: Any) -> Output:
        """Converts the value to another dtype.

        >>> g.cast(loop.i, "float32")
        """
        return self._native._cast(value, dtype)

    def print(self, *values: Any, stream: str = "stdout") -> Operation:
        """Adds a node that prints a line when it runs: strings unchanged, values of the graph as
        arrays.

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
        """Creates a while loop, as a context manager whose attributes are the loop's variables.

        Args:
            variables, more_variables: the loop variables and their first values.
            shapes: of variables whose shape changes: what all their values have in common.
            parallel_iterations: how many iterations may run at the same time.

        >>> with g.while_loop(i=0, total=x, shapes={"total": [None]}) as loop:
        ...     loop.condition(loop.i < 10)
        ...     loop.total = g.op("ConcatV2", [[loop.total, x], 0])
        ...     loop.i += 1
        >>> loop.total  # the value after the last iteration
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
        """Creates a conditional, as a context manager.

        >>> with g.cond(x > 0.0) as c:
        ...     with c.true():
        ...         c.y = x * 2.0
        ...     with c.false():
        ...         c.y = -x
        >>> c.y
        """
        return Conditional(self._native._cond(predicate, name), [])

    def switch_case(self, index: Any, *, name: str = "") -> SwitchCase:
        """Creates a conditional with one branch for each index, as a context manager.

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
        """Adds the gradients of the sum of all ys with respect to each x; None if no y depends on
        it.

        They go through calls, conditionals and loops, including nested ones. A variable as x means
        all reads of it.

        Args:
            ys, xs: a value or a list of values.
            grad_ys: the gradient of each y, with its shape; ones by default.

        Returns:
            A value, or a list if xs is a list.

        >>> dw, db = g.gradients(loss, [w, b])
        >>> w.assign_sub(0.1 * dw)
        """
        many = [list(v) if isinstance(v, list | tuple) else [v] for v in (ys, xs, grad_ys)]
        found = self._native._gradients(*many)
        return found if isinstance(xs, list | tuple) else found[0]

    def group(self, operations: Iterable[Operation | Output], *, name: str = "") -> Operation:
        """Adds a node without effects that runs after these: a target for runs.

        >>> step = g.group([v.assign_add(1.0), w.assign(x)], name="step")
        """
        waited = arguments.several(operations, "operations", (Operation, Output))
        return self._native._group(waited, name)

    def effects(self, *, name: str = "") -> Operation:
        """Adds a node that runs after all earlier nodes with side effects.

        >>> g.effects(name="step")  # session.run([], feeds, targets=["step"])
        """
        return self._native._effects(name)

    @contextmanager
    def scope(self, name: str) -> Iterator[None]:
        """Prefixes the names of nodes that are added in it with `name/`.

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
        """Adds control dependencies on these to nodes that are added in it.

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
        """Returns the graph, with its side effects ordered. The builder can still be used.

        >>> session = treadle.Session(g.build())
        """
        return self._native._build()
