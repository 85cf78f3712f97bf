"""The programs of `./dev bench loops`, in each runtime that can run them.

A maker takes a program's name and the number of threads, and gives a function of the number of
iterations that runs it and gives the result; it raises whatever its runtime does for what that
can't run.
"""

import contextlib
import functools
import logging
import os
import sys

import numpy as np

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

COLUMNS = 16
ROW = np.ones((1, COLUMNS), np.float32)
CHAIN = np.linspace(-1, 1, 1_000_000, dtype=np.float32)

# --- in StableHLO, for Treadle and IREE ----------------------------------------------------------


def counted(body, kind, constants=""):
    """for i in range(n): %r = body(%x)"""
    x = f"tensor<{kind}>"
    types = f"tensor<i32>, {x}"
    less = "{comparison_direction = #stablehlo<comparison_direction LT>}"
    return f"""
func.func @main(%n: tensor<i32>, %x0: {x}) -> {x} {{
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  {constants}
  %w:2 = "stablehlo.while"(%zero, %x0) ({{
  ^bb0(%i: tensor<i32>, %x: {x}):
    %p = "stablehlo.compare"(%i, %n) {less} : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.return"(%p) : (tensor<i1>) -> ()
  }}, {{
  ^bb0(%i: tensor<i32>, %x: {x}):
    {body}
    %next = stablehlo.add %i, %one : tensor<i32>
    "stablehlo.return"(%next, %r) : ({types}) -> ()
  }}) : ({types}) -> ({types})
  return %w#1 : {x}
}}
"""


SCALAR = counted(
    "%y = stablehlo.multiply %x, %half : tensor<f32>\n"
    "    %r = stablehlo.add %y, %unit : tensor<f32>",
    "f32",
    "%half = stablehlo.constant dense<0.5> : tensor<f32>\n"
    "  %unit = stablehlo.constant dense<1.0> : tensor<f32>",
)
GROWING = counted(
    f'%r = "stablehlo.concatenate"(%x, %row) {{dimension = 0 : i64}}'
    f" : (tensor<?x{COLUMNS}xf32>, tensor<1x{COLUMNS}xf32>) -> tensor<?x{COLUMNS}xf32>",
    f"?x{COLUMNS}xf32",
    f"%row = stablehlo.constant dense<1.0> : tensor<1x{COLUMNS}xf32>",
)


def chain():
    size = f"tensor<{len(CHAIN)}xf32>"
    lines = [f"%zero = stablehlo.constant dense<0.0> : {size}"]
    steps = ["tanh %x", "multiply %v0, %v0", "abs", "sqrt", "negate", "exponential", "tanh"]
    steps += ["maximum %v6, %zero", "logistic", "multiply %v8, %x", "add %v9, %x"]
    for i, step in enumerate(steps):
        operands = "" if " " in step else f" %v{i - 1}"
        lines.append(f"%v{i} = stablehlo.{step}{operands} : {size}")
    body = "\n  ".join(lines)
    head = f"func.func @main(%n: tensor<i32>, %x: {size}) -> {size}"
    return f"{head} {{\n  {body}\n  return %v10 : {size}\n}}"


def straight(factor):
    """A loop of 20 ops: 16 in a row, its counter and its condition; each factor is new code."""
    body = "%r0 = stablehlo.multiply %x, %f : tensor<f32>\n"
    for i in range(15):
        name = "add" if i % 2 else "multiply"
        result = "%r" if i == 14 else f"%r{i + 1}"
        body += f"{result} = stablehlo.{name} %r{i}, %f : tensor<f32>\n"
    return counted(body, "f32", f"%f = stablehlo.constant dense<{factor!r}> : tensor<f32>")


def vectors(factor):
    """The same over vectors, with functions among the 16."""
    kind = "64xf32"
    steps = ("multiply", "tanh", "add", "exponential", "multiply", "add", "logistic", "multiply")
    body, last = "", "%x"
    for i, step in enumerate(steps * 2):
        result = "%r" if i == 15 else f"%r{i}"
        other = ", %f" if step in ("add", "multiply") else ""
        body += f"{result} = stablehlo.{step} {last}{other} : tensor<{kind}>\n"
        last = result
    return counted(body, kind, f"%f = stablehlo.constant dense<{factor!r}> : tensor<{kind}>")


PROGRAMS = {"scalar": SCALAR, "growing": GROWING, "chain": chain()}
STARTS = {
    "scalar": np.float32(1),
    "variable": np.float32(1),
    "growing": ROW,
    "chain": CHAIN,
    "list": ROW[0],
}


def filled_list():
    """for i in range(n): list[i] = x * i; then its elements as a tensor. StableHLO has no lists."""
    import treadle

    g = treadle.Builder()
    n, x = g.placeholder("n", "int32", []), g.placeholder("x", "float32", [None])
    rows = g.op("TensorListReserve", [np.int32(-1), n], element_dtype="float32")
    with g.while_loop(i=0, rows=rows) as loop:
        loop.condition(loop.i < n)
        loop.rows = g.op("TensorListSetItem", [loop.rows, loop.i, x * g.cast(loop.i, "float32")])
        loop.i += 1
    g.op("TensorListStack", [loop.rows, np.int32(-1)], element_dtype="float32")
    return g.build()


def assigned_variable():
    """v = x; for i in range(n): v = v * 0.5 + 1; where v is a variable."""
    import treadle

    g = treadle.Builder()
    n, x = g.placeholder("n", "int32", []), g.placeholder("x", "float32", [])
    v = g.variable("v", dtype="float32", shape=[])
    v.assign(x)
    with g.while_loop(i=0) as loop:
        loop.condition(loop.i < n)
        v.assign(v * 0.5 + 1.0)
        loop.i += 1
    g.op("Identity", [v])
    return g.build()


BUILT = {"list": filled_list, "variable": assigned_variable}


def treadle(tier, program, threads):
    import treadle

    if program in BUILT:
        graph = BUILT[program]()
    else:
        graph = treadle.Graph.from_bytes(PROGRAMS[program].encode())
    session = treadle.Session(graph, tier=tier, threads=threads)
    (n, x), (out,) = ([v.name for v in values] for values in (graph.inputs(), graph.outputs()))
    start = STARTS[program]
    return lambda count: session.run(out, {n: np.int32(count), x: start})


def iree(program, threads):
    import iree.compiler
    import iree.runtime

    code = iree.compiler.compile_str(
        PROGRAMS[program],
        input_type="stablehlo",
        target_backends=["llvm-cpu"],
        extra_args=["--iree-llvmcpu-target-cpu=host"],
    )
    iree.runtime.flags.FUNCTION_INPUT_VALIDATION = False
    config = iree.runtime.Config("local-task" if threads > 1 else "local-sync")
    context = iree.runtime.SystemContext(config=config)
    context.add_vm_module(iree.runtime.VmModule.copy_buffer(context.instance, code))
    function = context.modules.module["main"]
    start = STARTS[program]
    return lambda count: function(np.int32(count), start).to_host()


# --- in Python ------------------------------------------------------------------------------------


def jax(program, threads):
    import jax
    from jax import lax
    from jax import numpy as jnp

    if program in ("growing", "list", "variable"):
        raise NotImplementedError("its shapes are fixed, and it has no variables")

    def scalar(n, x):
        return lax.fori_loop(0, n, lambda i, x: x * 0.5 + 1, x)

    def chain(n, x):
        y = jnp.tanh(jnp.exp(-jnp.sqrt(abs(jnp.square(jnp.tanh(x))))))
        return jax.nn.sigmoid(jnp.maximum(y, 0)) * x + x

    compiled = jax.jit({"scalar": scalar, "chain": chain}[program])
    start = jnp.asarray(STARTS[program])
    return lambda count: np.asarray(compiled(np.int32(count), start))


def tensorflow_function(program, **options):
    import tensorflow as tf

    def loop(body, shape):
        def run(n, x):
            return tf.while_loop(
                lambda i, x: i < n,
                lambda i, x: (i + 1, body(x)),
                (tf.constant(0), x),
                (tf.TensorShape(()), tf.TensorShape(shape)),
            )[1]

        return run

    def chain(n, x):
        y = tf.tanh(tf.exp(-tf.sqrt(tf.abs(tf.square(tf.tanh(x))))))
        return tf.sigmoid(tf.nn.relu(y)) * x + x

    def filled(n, x):
        rows = tf.TensorArray(tf.float32, n)
        for i in tf.range(n):
            rows = rows.write(i, x * tf.cast(i, tf.float32))
        return rows.stack()

    v = tf.Variable(0.0) if program == "variable" else None

    def assigned(n, x):
        v.assign(x)
        for _ in tf.range(n):
            v.assign(v * 0.5 + 1)
        return v.read_value()

    functions = {
        "list": filled,
        "variable": assigned,
        "scalar": loop(lambda x: x * 0.5 + 1, ()),
        "growing": loop(lambda x: tf.concat([x, ROW], 0), (None, COLUMNS)),
        "chain": chain,
    }
    shape = {"scalar": (), "variable": (), "growing": (None, COLUMNS)}.get(program, (None,))
    signature = (tf.TensorSpec((), tf.int32, "n"), tf.TensorSpec(shape, tf.float32, "x"))
    return tf.function(functions[program], input_signature=signature, **options), signature


def limited_tensorflow(threads):
    import tensorflow as tf

    with contextlib.suppress(RuntimeError):  # set already
        tf.config.threading.set_intra_op_parallelism_threads(threads)
        tf.config.threading.set_inter_op_parallelism_threads(threads)
    return tf


def tensorflow(program, threads, **options):
    tf = limited_tensorflow(threads)
    function, _ = tensorflow_function(program, **options)
    start = tf.constant(STARTS[program])
    return lambda count: function(tf.constant(count), start).numpy()


def xla(program, threads):
    return tensorflow(program, threads, jit_compile=True)


def onnx_session(model, threads):
    """Returns a session for a serialized model."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    # Its threads would go on looking for work while the next runtime is measured.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def onnx(program, threads):
    import tf2onnx

    limited_tensorflow(threads)
    function, signature = tensorflow_function(program)
    model, _ = tf2onnx.convert.from_function(function, signature, opset=17)
    session = onnx_session(model.SerializeToString(), threads)
    wanted = {value.name for value in session.get_inputs()}  # of the chain no count
    start = np.asarray(STARTS[program])

    def call(count):
        feeds = {"n": np.array(count, np.int32), "x": start}
        return session.run(None, {k: v for k, v in feeds.items() if k in wanted})[0]

    return call


# Name, what has to be installed, maker.
RIVALS = {
    "JAX": ("jax", jax),
    "TensorFlow": ("tensorflow", tensorflow),
    "XLA": ("tensorflow", xla),
    "ONNX Runtime": ("onnxruntime", onnx),
    "IREE": ("iree.compiler", iree),
}
TIERS = ("interpret", "auto", "jit")
TREADLE = {f"Treadle {tier}": functools.partial(treadle, tier) for tier in TIERS}


@contextlib.contextmanager
def quiet():
    """Converters and compilers tell at length what they can't do, from C++ as well."""
    streams = (sys.stdout, sys.stderr)
    for stream in streams:
        stream.flush()
    kept = [os.dup(stream.fileno()) for stream in streams]
    logging.disable(logging.ERROR)
    with open(os.devnull, "w") as nothing:
        for stream in streams:
            os.dup2(nothing.fileno(), stream.fileno())
        try:
            yield
        finally:
            for stream, copy in zip(streams, kept, strict=True):
                stream.flush()
                os.dup2(copy, stream.fileno())
                os.close(copy)
            logging.disable(logging.NOTSET)


def quietly(maker, *args):
    """Returns the maker's result after one successful call, or None if its runtime can't run it."""
    try:
        with quiet():
            call = maker(*args)
            call(1)
    except Exception:  # the runtimes' own, of many kinds
        return None
    return call
