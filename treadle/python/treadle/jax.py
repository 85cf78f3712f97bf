"""Treadle as a device of JAX: `JAX_PLATFORMS=treadle python program.py`.

JAX finds this module by the entry point `jax_plugins` and calls `initialize`. Nothing happens
unless `jax_platforms` names treadle, or TREADLE_PLATFORM is cpu.

Options are environment variables:

- TREADLE_NUM_DEVICES: number of devices; default: 1
- TREADLE_THREADS: number of threads, shared by the devices; default: one for each core
- TREADLE_TIER: interpret, auto or jit (docs/tiers.md); default: jit
- TREADLE_DENORMALS: flush or keep denormal numbers; default: flush
- TREADLE_PLATFORM: name of the platform, treadle or cpu; default: treadle. As `cpu`, Treadle takes
  the place of XLA's CPU backend, for packages that know the platforms by name.
"""

import collections.abc
import ctypes
import dataclasses
import itertools
import os
import threading
from pathlib import Path

_PLATFORM = os.environ.get("TREADLE_PLATFORM") or "treadle"
_TARGET = "treadle_callback"


class _Array(ctypes.Structure):
    """An array that a program passes to a callback, or expects from it."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("dims", ctypes.POINTER(ctypes.c_int64)),
        ("rank", ctypes.c_int64),
        ("type", ctypes.c_int32),
    )

    def view(self, dtype, is_writeable):
        """Returns the array's memory as a numpy array."""
        import numpy as np

        shape = tuple(self.dims[: self.rank])
        size = dtype.itemsize
        for dim in shape:
            size *= dim
        if size:
            memory = (ctypes.c_char * size).from_address(self.data)
            array = np.frombuffer(memory, dtype).reshape(shape)
        else:
            array = np.empty(shape, dtype)
        array.flags.writeable = is_writeable
        return array


_CALLBACK = ctypes.CFUNCTYPE(
    ctypes.c_bool, ctypes.c_int64, ctypes.POINTER(_Array), ctypes.c_int64,
    ctypes.POINTER(_Array), ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64,
)  # fmt: skip


class _Callbacks:
    """The functions that programs of this process call back, by number."""

    def __init__(self, library):
        self._functions = {}
        self._released = []  # unused numbers, which running programs may still refer to
        self._uses = library.treadle_pjrt_uses_callback
        self._uses.argtypes, self._uses.restype = [ctypes.c_int64], ctypes.c_bool
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._thread = threading.local()
        self._entry = _CALLBACK(self._call)
        library.treadle_pjrt_set_callback(self._entry)

    def add(self, fill, input_dtypes, output_dtypes):
        """Adds a function; returns its number, and an object that keeps it alive. `fill(inputs,
        outputs)` is called with the program's memory as numpy arrays."""
        number = next(self._numbers)
        self._functions[number] = (fill, input_dtypes, output_dtypes)
        self._forget()
        return number, _Registration(self._released, number)

    def emit(self, ctx, fill, operands, has_side_effect):
        """Adds a call of the function to a program; returns its results, and an object that keeps
        it alive."""
        import numpy as np
        from jax._src import ffi

        number, kept = self.add(
            fill, [aval.dtype for aval in ctx.avals_in], [aval.dtype for aval in ctx.avals_out]
        )
        ctx.module_context.add_keepalive(kept)
        lower = ffi.build_ffi_lowering_function(_TARGET, has_side_effect=has_side_effect)
        return list(lower(ctx, *operands, index=np.uint64(number)).results), kept

    def _forget(self):
        with self._lock:
            for number in [each for each in self._released if not self._uses(each)]:
                self._released.remove(number)
                del self._functions[number]

    def _keep_thread_state(self):
        """Keeps Python's state of this thread, which otherwise ends with each callback: JAX's
        thread-local caches would be empty in each."""
        if not getattr(self._thread, "is_kept", False):
            ctypes.pythonapi.PyGILState_Ensure()
            self._thread.is_kept = True

    def _call(self, number, inputs, num_inputs, outputs, num_outputs, problem, size):
        self._keep_thread_state()
        try:
            fill, input_dtypes, output_dtypes = self._functions[number]
            fill(
                [inputs[i].view(input_dtypes[i], False) for i in range(num_inputs)],
                [outputs[i].view(output_dtypes[i], True) for i in range(num_outputs)],
            )
        except BaseException as raised:  # reported as an error of the program
            text = _described(raised)[: size - 1].decode(errors="ignore").encode() + b"\0"
            ctypes.memmove(problem, text, len(text))
            return False
        return True


def _described(raised):
    """Returns an exception as bytes, even if its conversion to text fails."""
    try:
        return f"{type(raised).__name__}: {raised}".encode(errors="backslashreplace")
    except BaseException:
        return b"an exception that has no text"


class _Registration:
    """Enables programs with callbacks during its lifetime."""

    def __init__(self, released, number):
        self._released, self._number = released, number

    def __del__(self):
        self._released.append(self._number)


def _emitter(callbacks, emit_elsewhere):
    """Implements JAX's `emit_python_callback` with this platform's implementation of callbacks."""
    import numpy as np
    from jax._src import dtypes

    def emit(
        ctx, callback, token, operands, operand_avals, result_avals, *args, has_side_effect, **named
    ):
        if tuple(ctx.module_context.platforms) != (_PLATFORM,):
            return emit_elsewhere(
                ctx, callback, token, operands, operand_avals, result_avals, *args,
                has_side_effect=has_side_effect, **named,
            )  # fmt: skip

        def fill(inputs, outputs):
            # Pass copies: the function may keep them, but the program reuses its memory.
            arguments = [array.copy() for array in inputs]
            for array in arguments:
                array.flags.writeable = False
            results = callback(*arguments)
            if len(results) != len(result_avals):
                raise RuntimeError(
                    f"the callback returned {len(results)} values, expected {len(result_avals)}"
                )
            results = [dtypes.canonicalize_value(np.asarray(result)) for result in results]
            for i, (result, aval) in enumerate(zip(results, result_avals, strict=True)):
                if result.shape != aval.shape or result.dtype != aval.dtype:
                    raise RuntimeError(
                        f"value {i} of the callback is {result.dtype}{list(result.shape)}, "
                        f"expected {aval.dtype}{list(aval.shape)}"
                    )
                outputs[i][...] = result

        inner = dataclasses.replace(ctx, avals_in=operand_avals, avals_out=result_avals)
        results, kept = callbacks.emit(inner, fill, operands, has_side_effect)
        return results, token, kept

    return emit


class _Buffer:
    """A view of a program's memory during a callback, as jax.experimental.buffer_callback provides
    it."""

    def __init__(self, array):
        self._array = array

    shape = property(lambda self: self._array.shape)
    dtype = property(lambda self: self._array.dtype)
    ndim = property(lambda self: self._array.ndim)
    writeable = property(lambda self: self._array.flags.writeable)

    def __array__(self, dtype=None, copy=None):
        import numpy as np

        return np.array(self._array, dtype, copy=copy)

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


class _ExecutionContext:
    """The context argument of a buffer_callback."""

    def __init__(self, stage):
        self.stage = stage

    @property
    def stream(self):
        import jax

        raise jax.errors.JaxRuntimeError(
            f"XLA FFI GPU context is not available: {_PLATFORM} is not a GPU"
        )


def _buffer_callback(callbacks, lower_elsewhere):
    """Lowers `buffer_callback` for this platform."""
    from jax._src import buffer_callback, tree_util

    def lower(ctx, *operands, callback, in_tree, out_tree, has_side_effect, input_output_aliases,
              **parameters):  # fmt: skip
        if tuple(ctx.module_context.platforms) != (_PLATFORM,):
            return lower_elsewhere(
                ctx, *operands, callback=callback, in_tree=in_tree, out_tree=out_tree,
                has_side_effect=has_side_effect, input_output_aliases=input_output_aliases,
                **parameters,
            )  # fmt: skip

        def fill(inputs, outputs):
            for i, o in input_output_aliases:
                outputs[o][...] = inputs[i]
                inputs[i] = outputs[o].view()
                inputs[i].flags.writeable = False
            arguments, named = tree_util.tree_unflatten(in_tree, map(_Buffer, inputs))
            results = tree_util.tree_unflatten(out_tree, map(_Buffer, outputs))
            context = _ExecutionContext(buffer_callback.ExecutionStage.EXECUTE)
            if callback(context, results, *arguments, **named) is not None:
                raise ValueError("a buffer_callback returned a value, expected None")

        return callbacks.emit(ctx, fill, operands, has_side_effect)[0]

    return lower


def _exported_call(call):
    """Lowers a call of an exported function like JAX does; accepts functions exported for CPUs
    too."""

    def lower(ctx, *arguments, exported):
        if _PLATFORM not in exported.platforms:
            platforms = [_PLATFORM if name == "cpu" else name for name in exported.platforms]
            exported = dataclasses.replace(exported, platforms=tuple(platforms))
        return call(ctx, *arguments, exported=exported)

    return lower


def _branching(lower, parameter):
    """Lowers platform-dependent branches; this platform uses the branch for CPUs."""

    def extended(branches):
        named = {name for names in branches for name in names or ()}
        if _PLATFORM in named:
            return branches
        return tuple((*names, _PLATFORM) if "cpu" in (names or ()) else names for names in branches)

    def rule(ctx, *arguments, **parameters):
        if parameters.get(parameter) is not None:
            parameters[parameter] = extended(parameters[parameter])
        return lower(ctx, *arguments, **parameters)

    return rule


def _custom_partitioning(ctx, *operands, call, **_):
    """Lowers a function with custom partitioning rules as the plain function: there is no
    partitioner."""
    from jax._src import core
    from jax._src.interpreters import mlir

    return mlir.lower_fun(core.jaxpr_as_fun(call), multiple_results=True)(ctx, *operands)


def _inspect_sharding(ctx, value, *, callback):
    """Reports how a value is sharded within a program: every device has all of it."""
    import numpy as np
    from jax._src.sharding_impls import GSPMDSharding
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    context = ctx.module_context.axis_context
    mesh = getattr(context, "mesh", None)
    if mesh is None and (axes := context.abstract_mesh) is not None:
        mesh = Mesh(np.array(context.device_assignment).reshape(axes.axis_sizes), axes.axis_names)
    callback(
        GSPMDSharding.get_replicated(context.device_assignment)
        if mesh is None
        else NamedSharding(mesh, PartitionSpec())
    )
    return []


class _Rules(collections.abc.MutableMapping):
    """Lowering rules for operations: this platform's own, or those for CPUs, except rules that only
    XLA's CPU backend needs."""

    NOT_AS_CPUS = ("bcsr_dot_general", "dot_general")

    def __init__(self, of_cpus):
        self._of_cpus = of_cpus  # modules that are imported later add rules
        self._own = {}

    def __getitem__(self, primitive):
        if primitive in self._own:
            return self._own[primitive]
        if primitive.name in self.NOT_AS_CPUS:
            raise KeyError(primitive)
        return self._of_cpus[primitive]

    def __setitem__(self, primitive, rule):
        self._own[primitive] = rule

    def __delitem__(self, primitive):
        del self._own[primitive]

    def __iter__(self):
        yield from self._own
        for primitive in self._of_cpus:
            if primitive not in self._own and primitive.name not in self.NOT_AS_CPUS:
                yield primitive

    def __len__(self):
        return sum(1 for _ in self)


def _register_rules(library):
    """Registers the lowering rules for this platform."""
    from jax._src import buffer_callback, callback, custom_partitioning, debugging
    from jax._src.export import _export
    from jax._src.interpreters import mlir
    from jax._src.lax.control_flow import conditionals
    from jax.interpreters import mlir as public_mlir

    rules = mlir._platform_specific_lowerings
    rules[_PLATFORM] = _Rules(rules["cpu"])
    callbacks = _Callbacks(library)
    own = {
        buffer_callback.buffer_callback_p: _buffer_callback(
            callbacks, buffer_callback._buffer_callback_lowering
        ),
        _export.call_exported_p: _exported_call(_export._call_exported_lowering),
        custom_partitioning.custom_partitioning_p: _custom_partitioning,
        debugging.inspect_sharding_p: _inspect_sharding,
        conditionals.cond_p: _branching(conditionals._cond_lowering, "branches_platforms"),
        conditionals.platform_index_p: _branching(
            conditionals._platform_index_lowering, "platforms"
        ),
    }
    for primitive, rule in own.items():
        mlir.register_lowering(primitive, rule, platform=_PLATFORM)
    if _PLATFORM not in mlir._platforms_with_donation:
        mlir._platforms_with_donation.append(_PLATFORM)
    emit = _emitter(callbacks, callback.emit_python_callback)
    callback.emit_python_callback = public_mlir.emit_python_callback = emit


def _options():
    options = {"platform": _PLATFORM}
    for option, convert in (
        ("num_devices", int),
        ("threads", int),
        ("tier", str),
        ("denormals", str),
    ):
        variable = f"TREADLE_{option.upper()}"
        if text := os.environ.get(variable):
            try:
                options[option] = convert(text)
            except ValueError:
                raise ValueError(f"{variable} is '{text}', expected a number") from None
    return options


def initialize():
    """Registers the platform with JAX, which calls this before it looks for devices."""
    import jax
    from jax._src import xla_bridge

    if _PLATFORM not in ("treadle", "cpu"):
        raise ValueError(f"TREADLE_PLATFORM is '{_PLATFORM}', expected treadle or cpu")
    platforms = (jax.config.jax_platforms or "").split(",")
    if "treadle" not in platforms and (_PLATFORM != "cpu" or platforms not in (["cpu"], [""])):
        return
    if _PLATFORM == "cpu":
        platforms = ["cpu" if name in ("treadle", "") else name for name in platforms]
    else:
        platforms.append("cpu")  # the platform of arrays that JAX passes to callbacks
    jax.config.update("jax_platforms", ",".join(dict.fromkeys(platforms)))
    path = Path(__file__).with_name("libtreadle_pjrt.so")
    xla_bridge._nonexperimental_plugins.add(_PLATFORM)  # logged at each start otherwise
    xla_bridge.register_plugin(_PLATFORM, library_path=str(path), options=_options)
    _register_rules(ctypes.CDLL(str(path)))
