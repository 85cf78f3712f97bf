#!/usr/bin/env python3
"""Measures the rounding errors of sums, products and ops that use them, beside other engines.

    ./dev bench accuracy                          every op, dtype and length, all engines
    ./dev bench accuracy dot cumsum --lengths 1000 1000000 --dtypes float32
    ./dev bench accuracy --engines treadle jax    these alone
    ./dev bench accuracy --check                  exit 1 if Treadle is worse than twice the best
    ./dev bench accuracy --write                  results/accuracy.json and the table in the docs

A number is the largest error of any element of the result, in units of the last place of that
element, averaged over several inputs. A result that is rounded correctly has an error of 0.25 on
average, and never more than 0.5. Inputs are uniform in [0, 1), so that no digits cancel. The exact
results are computed with 64-bit mantissas. Each engine has a process of its own; 'treadle' is
compiled, 'interpreted' isn't. `--python ENGINE=PATH` says which Python has an engine.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
BUILD = HERE.parent / "build"
RESULTS = HERE / "results" / "accuracy.json"
PAGE = HERE.parent / "docs" / "accuracy.md"
RIVALS = ("numpy", "jax", "tensorflow", "torch")
ENGINES = ("treadle", "interpreted", *RIVALS)
PYTHONS = {"jax": "loops-venv", "tensorflow": "loops-venv", "torch": "torch-venv"}
DTYPES = ("float32", "float64", "float16", "bfloat16")
LENGTHS = (1_000, 10_000, 100_000, 1_000_000)
MANTISSAS = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}
LOWEST_EXPONENTS = {"float64": -1022, "float32": -126, "float16": -14, "bfloat16": -126}
SEEDS = 5


# --- the ops: their inputs, and exact results ----------------------------------------------------


def uniform(np, rng, n):
    return rng.random(n)


def columns(np, rng, n):
    return rng.random((n, 4))


def rows(np, rng, n):
    return rng.random((4, n))


def near_one(np, rng, n):
    return 1 + (rng.random(n) - 0.5) * 16 / n


def spread(np, rng, n):
    return 8 * rng.random(n)


def shifted(np, rng, n):
    return 8 + rng.random(n)


def logsumexp(np, x):
    return np.log(np.exp(x).sum())


def log_softmax(np, x):
    return x - logsumexp(np, x)


# By name: what makes each input, and the result of exact ones.
OPS = {
    "sum": ([uniform], lambda np, x: x.sum()),
    "sum of columns": ([columns], lambda np, x: x.sum(0)),
    "sum of rows": ([rows], lambda np, x: x.sum(1)),
    "mean": ([uniform], lambda np, x: x.mean()),
    "prod": ([near_one], lambda np, x: x.prod()),
    "norm": ([uniform], lambda np, x: np.sqrt((x * x).sum())),
    "variance": ([shifted], lambda np, x: x.var()),
    "dot": ([uniform, uniform], lambda np, x, y: (x * y).sum()),
    "matrix by vector": ([rows, uniform], lambda np, a, x: (a * x).sum(1)),
    "vector by matrix": ([uniform, columns], lambda np, x, a: (a * x[:, None]).sum(0)),
    "matrix product": ([rows, columns], lambda np, a, b: (a[:, :, None] * b[None]).sum(1)),
    "batch of dots": ([rows, rows], lambda np, a, b: (a * b).sum(1)),
    "cumsum": ([uniform], lambda np, x: np.cumsum(x)),
    "cumsum of columns": ([columns], lambda np, x: np.cumsum(x, 0)),
    "cumprod": ([near_one], lambda np, x: np.cumprod(x)),
    "logcumsumexp": ([uniform], lambda np, x: np.log(np.cumsum(np.exp(x)))),
    "logsumexp": ([spread], logsumexp),
    "softmax": ([spread], lambda np, x: np.exp(x) / np.exp(x).sum()),
    "log_softmax": ([spread], log_softmax),
    "segment sum": ([uniform], lambda np, x: x.sum()[None]),
    "scatter add": ([uniform], lambda np, x: x.sum()[None]),
    "convolution": ([uniform, uniform], lambda np, x, y: (x * y).sum()),
    "average pool": ([uniform], lambda np, x: x.mean()),
}


def scaled(np, x, dtype):
    """Smaller numbers where the sum would be none of the dtype."""
    return x * (4096 / x.size) if dtype == "float16" and x.size > 4096 else x


def rounded(np, x, dtype):
    """To the numbers of the dtype, as float64."""
    if dtype == "float64":
        return x
    _, exponents = np.frexp(x)
    last = np.ldexp(1.0, np.maximum(exponents, LOWEST_EXPONENTS[dtype] + 1) - MANTISSAS[dtype])
    return np.rint(x / last) * last


def inputs_of(np, op, dtype, n, seed):
    rng = np.random.default_rng(seed)
    makers = OPS[op][0]
    made = [maker(np, rng, n) for maker in makers]
    if not {near_one, spread, shifted} & set(makers):
        made = [scaled(np, x, dtype) for x in made]
    return [rounded(np, x, dtype) for x in made]


def error_of(np, op, dtype, inputs, got):
    """The largest, in units of the last place."""
    exact = OPS[op][1](np, *(x.astype(np.longdouble) for x in inputs))
    got = np.asarray(got).reshape(exact.shape)
    if not np.isfinite(got).all():
        return float("inf")
    _, exponents = np.frexp(exact)
    last = np.maximum(exponents, LOWEST_EXPONENTS[dtype] + 1) - MANTISSAS[dtype]
    return float((np.abs(got - exact) / np.ldexp(np.longdouble(1), last)).max())


# --- the engines ---------------------------------------------------------------------------------
# Each is a function of the ops' names: functions of arrays of float64, which gives one as well.


def numpy_engine(np, dtype):
    if dtype == "bfloat16":
        return {}

    def scatter_add(np, x):
        sums = np.zeros(1, x.dtype)
        np.add.at(sums, np.zeros(x.size, int), x)
        return sums

    ops = {
        **{name: OPS[name][1] for name in OPS if "segment" not in name and "pool" not in name},
        "norm": lambda np, x: np.linalg.norm(x),
        "dot": lambda np, x, y: x @ y,
        "matrix by vector": lambda np, a, x: a @ x,
        "vector by matrix": lambda np, x, a: x @ a,
        "matrix product": lambda np, a, b: a @ b,
        "batch of dots": lambda np, a, b: np.einsum("bi,bi->b", a, b),
        "logcumsumexp": lambda np, x: np.logaddexp.accumulate(x),
        "scatter add": scatter_add,
        "convolution": lambda np, x, y: np.convolve(x, y[::-1], "valid"),
    }
    return {
        name: lambda *xs, f=f: np.asarray(f(np, *(x.astype(dtype) for x in xs))).astype(float)
        for name, f in ops.items()
    }


def jax_engine(np, dtype):
    import jax
    from jax import numpy as jnp

    jax.config.update("jax_enable_x64", True)

    def convolution(x, y):
        return jax.lax.conv_general_dilated(x[None, None], y[None, None], (1,), "VALID")

    def average(x):
        total = jax.lax.reduce_window(x, x.dtype.type(0), jax.lax.add, x.shape, (1,), "VALID")
        return total / x.dtype.type(x.size) if dtype != "float16" else total * (1 / x.size)

    ops = {
        "sum": jnp.sum,
        "sum of columns": lambda x: x.sum(0),
        "sum of rows": lambda x: x.sum(1),
        "mean": jnp.mean,
        "prod": jnp.prod,
        "norm": jnp.linalg.norm,
        "variance": jnp.var,
        "dot": jnp.dot,
        "matrix by vector": jnp.dot,
        "vector by matrix": jnp.dot,
        "matrix product": jnp.dot,
        "batch of dots": lambda a, b: jnp.einsum("bi,bi->b", a, b),
        "cumsum": jnp.cumsum,
        "cumsum of columns": lambda x: jnp.cumsum(x, 0),
        "cumprod": jnp.cumprod,
        "logcumsumexp": jax.lax.cumlogsumexp,
        "logsumexp": jax.nn.logsumexp,
        "softmax": jax.nn.softmax,
        "log_softmax": jax.nn.log_softmax,
        "segment sum": lambda x: jax.ops.segment_sum(
            x, jnp.zeros(x.size, int), 1, indices_are_sorted=True
        ),
        "scatter add": lambda x: jnp.zeros(1, x.dtype).at[jnp.zeros(x.size, int)].add(x),
        "convolution": convolution,
        "average pool": average,
    }

    def call(f):
        jitted = jax.jit(f)
        return lambda *xs: np.asarray(jitted(*(jnp.asarray(x).astype(dtype) for x in xs)), float)

    return {name: call(f) for name, f in ops.items()}


def tensorflow_engine(np, dtype):
    import tensorflow as tf

    def zeros(x):
        return tf.zeros(tf.size(x), tf.int32)

    ops = {
        "sum": tf.reduce_sum,
        "sum of columns": lambda x: tf.reduce_sum(x, 0),
        "sum of rows": lambda x: tf.reduce_sum(x, 1),
        "mean": tf.reduce_mean,
        "prod": tf.reduce_prod,
        "norm": tf.norm,
        "variance": tf.math.reduce_variance,
        "dot": lambda x, y: tf.tensordot(x, y, 1),
        "matrix by vector": tf.linalg.matvec,
        "vector by matrix": lambda x, a: x[None] @ a,
        "matrix product": tf.matmul,
        "batch of dots": lambda a, b: tf.einsum("bi,bi->b", a, b),
        "cumsum": tf.cumsum,
        "cumsum of columns": tf.cumsum,
        "cumprod": tf.math.cumprod,
        "logcumsumexp": tf.math.cumulative_logsumexp,
        "logsumexp": tf.reduce_logsumexp,
        "softmax": tf.nn.softmax,
        "log_softmax": tf.nn.log_softmax,
        "segment sum": lambda x: tf.math.segment_sum(x, zeros(x)),
        "scatter add": lambda x: tf.scatter_nd(zeros(x)[:, None], x, [1]),
        "convolution": lambda x, y: tf.nn.conv1d(x[None, :, None], y[:, None, None], 1, "VALID"),
        "average pool": lambda x: tf.nn.avg_pool1d(x[None, :, None], x.shape[0], 1, "VALID"),
    }

    def call(f):
        compiled = tf.function(f)
        return lambda *xs: tf.cast(compiled(*(tf.cast(x, dtype) for x in xs)), tf.float64).numpy()

    return {name: call(f) for name, f in ops.items()}


def torch_engine(np, dtype):
    import torch
    from torch.nn import functional as F

    def zeros(x):
        return torch.zeros(x.numel(), dtype=torch.int64)

    ops = {
        "sum": torch.sum,
        "sum of columns": lambda x: x.sum(0),
        "sum of rows": lambda x: x.sum(1),
        "mean": torch.mean,
        "prod": torch.prod,
        "norm": torch.linalg.vector_norm,
        "variance": lambda x: x.var(correction=0),
        "dot": torch.dot,
        "matrix by vector": torch.mv,
        "vector by matrix": torch.matmul,
        "matrix product": torch.matmul,
        "batch of dots": lambda a, b: torch.einsum("bi,bi->b", a, b),
        "cumsum": lambda x: x.cumsum(0),
        "cumsum of columns": lambda x: x.cumsum(0),
        "cumprod": lambda x: x.cumprod(0),
        "logcumsumexp": lambda x: x.logcumsumexp(0),
        "logsumexp": lambda x: x.logsumexp(0),
        "softmax": lambda x: x.softmax(0),
        "log_softmax": lambda x: x.log_softmax(0),
        "segment sum": lambda x: torch.segment_reduce(x, "sum", lengths=torch.tensor([x.numel()])),
        "scatter add": lambda x: torch.zeros(1, dtype=x.dtype).index_add(0, zeros(x), x),
        "convolution": lambda x, y: F.conv1d(x[None, None], y[None, None]),
        "average pool": lambda x: F.avg_pool1d(x[None, None], x.numel()),
    }
    kind = getattr(torch, dtype)
    return {
        name: lambda *xs, f=f: f(*(torch.from_numpy(x).to(kind) for x in xs)).double().numpy()
        for name, f in ops.items()
    }


def treadle_engine(np, dtype, tier="jit", threads=2):
    import treadle

    def widened(g, x):  # as JAX and PyTorch compute functions of several ops
        return g.cast(x, "float32") if dtype.endswith("16") else x

    def logsumexp(g, x):
        x = widened(g, x)
        most = g.op("Max", [x, [0]])
        return g.op("Log", [g.op("Sum", [g.op("Exp", [x - most]), [0]])]) + most

    def variance(g, x):
        x = widened(g, x)
        return g.op("Mean", [g.op("Square", [x - g.op("Mean", [x, [0]])]), [0]])

    def zeros(x):
        return np.zeros(x.shape[0], np.int32)

    def image(g, x):
        return g.op("Reshape", [x, [1, 1, -1, 1]])

    def convolution(g, x, y):
        filter = g.op("Reshape", [y, [1, -1, 1, 1]])
        return g.op("Conv2D", [image(g, x), filter], strides=[1, 1, 1, 1], padding="VALID")

    def average(g, x):
        attrs = {"ksize": [1, 1, x.shape[0], 1], "strides": [1, 1, 1, 1], "padding": "VALID"}
        return g.op("AvgPool", [image(g, x)], **attrs)

    def product(equation):
        return lambda g, a, b: g.op("Einsum", [a, b], equation=equation)

    def reduced(op, axis=0):
        return lambda g, x: g.op(op, [x, [axis]])

    def cumulative(op):
        return lambda g, x: g.op(op, [x, 0])

    ops = {
        "sum": reduced("Sum"),
        "sum of columns": reduced("Sum"),
        "sum of rows": reduced("Sum", 1),
        "mean": reduced("Mean"),
        "prod": reduced("Prod"),
        "norm": reduced("EuclideanNorm"),
        "variance": variance,
        "dot": product("i,i->"),
        "matrix by vector": product("bi,i->b"),
        "vector by matrix": product("i,ib->b"),
        "matrix product": lambda g, a, b: g.op("MatMul", [a, b]),
        "batch of dots": product("bi,bi->b"),
        "cumsum": cumulative("Cumsum"),
        "cumsum of columns": cumulative("Cumsum"),
        "cumprod": cumulative("Cumprod"),
        "logcumsumexp": cumulative("CumulativeLogsumexp"),
        "logsumexp": logsumexp,
        "softmax": lambda g, x: g.op("Softmax", [x]),
        "log_softmax": lambda g, x: g.op("LogSoftmax", [x]),
        "segment sum": lambda g, x: g.op("SegmentSum", [x, zeros(x)]),
        "scatter add": lambda g, x: g.op("ScatterNd", [zeros(x)[:, None], x, [1]]),
        "convolution": convolution,
        "average pool": average,
    }

    def call(f, *xs):
        g = treadle.Builder()
        given = [g.placeholder(f"x{i}", "float64", list(x.shape)) for i, x in enumerate(xs)]
        casts = given if dtype == "float64" else [g.cast(x, dtype) for x in given]
        result = g.op("Identity", [f(g, *casts)])
        if dtype != "float64":
            result = g.cast(g.cast(result, dtype), "float64")
        session = treadle.Session(g.build(), tier=tier, threads=threads)
        return session.run(result.name, {x.name: value for x, value in zip(given, xs, strict=True)})

    return {name: lambda *xs, f=f: call(f, *xs) for name, f in ops.items()}


def interpreted_engine(np, dtype):
    return treadle_engine(np, dtype, tier="interpret")


# --- the process of an engine --------------------------------------------------------------------


def work(args):
    """Prints a line for each op, dtype and length: the error, or what the engine says instead."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    os.environ["TREADLE_CACHE_DIR"] = "off"
    import numpy as np

    engine = globals()[f"{args.engines[0]}_engine"]
    for dtype in args.dtypes:
        ops = engine(np, dtype)
        for op in args.ops:
            for n in args.lengths if op in ops else []:
                print(json.dumps([op, dtype, n, *measure(np, ops[op], op, dtype, n)]), flush=True)


def measure(np, f, op, dtype, n):
    errors = []
    try:
        for seed in range(SEEDS):
            inputs = inputs_of(np, op, dtype, n, seed)
            errors.append(error_of(np, op, dtype, inputs, f(*inputs)))
    except Exception as error:  # an engine's own, of many kinds: it lacks the op for the dtype
        return None, str(error).strip().splitlines()[0][:100] if str(error) else repr(error)
    return sum(errors) / len(errors), ""


# --- all of them ---------------------------------------------------------------------------------


def python_of(engine, args):
    given = dict(pair.split("=", 1) for pair in args.python)
    folder = PYTHONS.get(engine)
    return given.get(engine, str(BUILD / folder / "bin" / "python") if folder else sys.executable)


def run_engine(engine, args):
    """Returns the output of the engine's process, complete or up to a crash."""
    command = [python_of(engine, args), __file__, *args.ops, "--worker", "--engines", engine]
    command += ["--dtypes", *args.dtypes, "--lengths", *map(str, args.lengths)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        print(f"bench: {engine} ended with status {done.returncode}", file=sys.stderr)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]


def best_of(errors):
    found = [errors[rival] for rival in RIVALS if errors.get(rival) is not None]
    return min(found, default=None)


def is_worse(errors):
    """Whether Treadle's error is more than twice that of the best rival, and than a unit."""
    best = best_of(errors)
    own = [errors[e] for e in ("treadle", "interpreted") if errors.get(e) is not None]
    return best is not None and any(e > max(2 * best, 1) for e in own)


def number(error):
    return "" if error is None else f"{error:.2g}" if error < 100 else f"{error:,.0f}"


def table(results, engines):
    """Returns a Markdown table."""
    lines = ["| op | dtype | length | " + " | ".join(engines) + " |"]
    lines.append("| --- | --- | ---: |" + " ---: |" * len(engines))
    for row in results:
        cells = [number(row["errors"].get(engine)) for engine in engines]
        lines.append(
            f"| {row['op']} | {row['dtype']} | {row['length']:,} | " + " | ".join(cells) + " |"
        )
    return "\n".join(lines) + "\n"


def page(text, results):
    """The page with the table of inputs of 100,000 elements, float32 and float64."""
    rows = [r for r in results if r["length"] == 100_000 and r["dtype"] in DTYPES[:2]]
    before, rest = text.split("<!-- table -->\n")
    after = rest.split("<!-- /table -->")[1]
    return f"{before}<!-- table -->\n\n{table(rows, ENGINES)}\n<!-- /table -->{after}"


def parse():
    parser = argparse.ArgumentParser(
        prog="./dev bench accuracy",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("ops", nargs="*", metavar="OP", help=", ".join(OPS))
    parser.add_argument("--engines", nargs="+", default=ENGINES, choices=ENGINES)
    parser.add_argument("--dtypes", nargs="+", default=DTYPES, choices=DTYPES)
    parser.add_argument("--lengths", nargs="+", type=int, default=LENGTHS)
    parser.add_argument("--python", nargs="+", default=[], metavar="ENGINE=PATH")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    args.ops = args.ops or list(OPS)
    for op in args.ops:
        if op not in OPS:
            parser.error(f"unknown op '{op}', expected one of {', '.join(OPS)}")
    return args


def merged(args):
    """Returns the errors by op, dtype and length: those measured now, and those of other engines as
    stored."""
    found = {}
    if args.write and RESULTS.exists():
        for row in json.loads(RESULTS.read_text()):
            found[row["op"], row["dtype"], row["length"]] = row["errors"]
    for engine in args.engines:
        for op, dtype, n, error, said in run_engine(engine, args):
            found.setdefault((op, dtype, n), {})[engine] = error
            if said and engine not in RIVALS:
                print(f"{engine}: {op} {dtype} {n}: {said}", file=sys.stderr)
    names, dtypes = list(OPS), list(DTYPES)
    order = sorted(found, key=lambda key: (names.index(key[0]), dtypes.index(key[1]), key[2]))
    return [{"op": o, "dtype": d, "length": n, "errors": found[o, d, n]} for o, d, n in order]


def main():
    args = parse()
    if args.worker:
        return work(args)
    results = merged(args)
    print(
        table(results, [e for e in ENGINES if any(e in row["errors"] for row in results)]), end=""
    )
    worse = [row for row in results if is_worse(row["errors"])]
    for row in worse:
        errors = {name: number(error) for name, error in row["errors"].items()}
        print(f"worse: {row['op']} {row['dtype']} {row['length']:,}: {errors}", file=sys.stderr)
    if args.write:
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text("[\n" + ",\n".join(map(json.dumps, results)) + "\n]\n")
        PAGE.write_text(page(PAGE.read_text(), results))
    sys.exit(bool(worse) and args.check)


if __name__ == "__main__":
    main()
