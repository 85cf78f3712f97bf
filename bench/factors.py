#!/usr/bin/env python3
"""Measures factorisations of matrices beside numpy, whose LAPACK is OpenBLAS, in one process.

    ./dev bench factors                        every factorisation, float32 and float64
    ./dev bench factors Eig Svd --size 256     these, of one size
    ./dev bench factors --threads 1 --markdown

Small matrices come in batches: 1,000 of 4 x 4, 50 of 32 x 32. Treadle has TensorFlow's ops; names
with 'lapack' are the calls that programs of JAX make. A line gives microseconds of one matrix in
numpy and in Treadle, and their ratio (above 1: Treadle is faster).
"""

import argparse
import os
import pathlib
import statistics
import sys
import tempfile

BATCHES = {4: 1000, 32: 50}


def symmetric(np, a):
    return a + a.swapaxes(-1, -2)


def positive(np, a):
    return a @ a.swapaxes(-1, -2) + a.shape[-1] * np.eye(a.shape[-1], dtype=a.dtype)


def lower(np, a):
    return np.tril(positive(np, a))


def plain(np, a):
    return a


def solved_rows(np, a):
    return np.linalg.solve(a, a[..., :16])


# By TensorFlow's op: what matrices it takes, what numpy does, attributes, how many results.
OPS = {
    "Cholesky": (positive, lambda np, a: np.linalg.cholesky(a), {}, 1),
    "MatrixInverse": (positive, lambda np, a: np.linalg.inv(a), {}, 1),
    "MatrixDeterminant": (plain, lambda np, a: np.linalg.det(a), {}, 1),
    "MatrixSolve": (plain, solved_rows, {}, 1),
    "MatrixTriangularSolve": (lower, solved_rows, {"lower": True}, 1),
    "Qr": (plain, lambda np, a: np.linalg.qr(a), {}, 2),
    "SelfAdjointEigV2": (symmetric, lambda np, a: np.linalg.eigh(a), {}, 2),
    "Svd": (plain, lambda np, a: np.linalg.svd(a), {"full_matrices": True}, 3),
    "Eig": (plain, lambda np, a: np.linalg.eig(a), {}, 2),
}

# By LAPACK's routine: the same, with the result types as letters: m(atrix), v(ector), i(nfo).
CALLS = {
    "potrf": (positive, lambda np, a: np.linalg.cholesky(a), "uplo = 76 : ui8", "mi"),
    "getrf": (plain, lambda np, a: np.linalg.det(a), "", "mpi"),
    "geqrf": (plain, lambda np, a: np.linalg.qr(a, mode="raw"), "", "mv"),
    "syevd": (
        symmetric,
        lambda np, a: np.linalg.eigh(a),
        "mode = 86 : ui8, uplo = 76 : ui8",
        "mvi",
    ),
    "gesdd": (plain, lambda np, a: np.linalg.svd(a), "mode = 65 : ui8", "mvmmi"),
    "geev": (
        plain,
        lambda np, a: np.linalg.eig(a),
        "compute_left = 78 : ui8, compute_right = 86 : ui8",
        "vvcci",
    ),
}


def op_call(np, treadle, name, a, threads):
    _, _, attrs, results = OPS[name]
    graph = treadle.Builder()
    x = graph.placeholder("x", a.dtype.name, list(a.shape))
    operands = [x]
    feeds = {"x:0": a}
    if "Solve" in name:
        right = np.ascontiguousarray(a[..., :16])
        operands.append(graph.placeholder("right", a.dtype.name, list(right.shape)))
        feeds["right:0"] = right
    if name == "Eig":
        attrs = {**attrs, "Tout": "complex64" if a.dtype == np.float32 else "complex128"}
    graph.op(name, operands, name="y", **attrs)
    session = treadle.Session(graph.build(), threads=threads)
    fetches = [f"y:{i}" for i in range(results)]
    return lambda: session.run(fetches, feeds)


def lapack_call(np, treadle, name, a, threads):
    _, _, config, results = CALLS[name]
    batch, n = a.shape[:-2], a.shape[-1]
    float_type = "f32" if a.dtype == np.float32 else "f64"
    kinds = {
        "m": ([n, n], float_type),
        "c": ([n, n], f"complex<{float_type}>"),
        "v": ([n], float_type),
        "p": ([n], "i32"),
        "i": ([], "i32"),
    }

    def tensor(dims, element):
        return f"tensor<{'x'.join([*map(str, [*batch, *dims]), element])}>"

    types = ", ".join(tensor(*kinds[kind]) for kind in results)
    x = tensor([n, n], float_type)
    values = ", ".join(f"%r#{i}" for i in range(len(results)))
    letter = "s" if a.dtype == np.float32 else "d"
    text = f"""func.func @main(%x: {x}) -> ({types}) {{
      %r:{len(results)} = stablehlo.custom_call @lapack_{letter}{name}_ffi(%x)
        {{mhlo.backend_config = {{{config}}}, api_version = 4 : i32}} : ({x}) -> ({types})
      return {values} : {types}
    }}"""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "call.mlir"
        path.write_text(text)
        model = treadle.load(path, threads=threads)
    return lambda: model.signatures["main"](a)


def cases(names):
    for name in names:
        if name in OPS:
            yield name, OPS[name], op_call
        else:
            yield f"lapack {name}", CALLS[name], lapack_call


def seconds_of(np, bench, call, least):
    """The median of runs that take `least` seconds together, of at least 5."""
    call()
    once = bench.seconds(call)
    return statistics.median(
        bench.seconds(call) for _ in range(max(5, min(200, int(least / max(once, 1e-6)))))
    )


def main():
    parser = argparse.ArgumentParser(
        prog="./dev bench factors",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    known = [*OPS, *CALLS]
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of {', '.join(known)}")
    parser.add_argument("--size", type=int, action="append", help="4, 32, 100, 256 and 512")
    parser.add_argument("--dtype", action="append", choices=["float32", "float64"])
    parser.add_argument("--threads", type=int, default=1, help="default: 1")
    parser.add_argument(
        "--seconds", type=float, default=0.1, help="duration of each measurement; default: 0.1"
    )
    parser.add_argument("--markdown", action="store_true")
    args = parser.parse_args()
    unknown = [name for name in args.names if name not in known]
    if unknown:
        parser.error(f"no factorisation is called {unknown[0]!r}; there are {', '.join(known)}")
    os.environ["OPENBLAS_NUM_THREADS"] = str(args.threads)  # numpy reads it when it is imported
    import numpy as np

    import bench
    import treadle

    print_row = markdown_row if args.markdown else text_row
    print_row("us", "size", "dtype", "numpy", "treadle", "ratio")
    if args.markdown:
        print_row(*["---"] * 6)
    ratios = []
    for name, (matrices, by_numpy, *_), maker in cases(args.names or known):
        for dtype in args.dtype or ["float32", "float64"]:
            for size in args.size or [4, 32, 100, 256, 512]:
                count = BATCHES.get(size)
                shape = (count, size, size) if count else (size, size)
                drawn = np.random.default_rng(size).standard_normal(shape).astype(dtype)
                a = np.ascontiguousarray(matrices(np, drawn))
                own = maker(np, treadle, name.split()[-1], a, args.threads)
                scale = 1e6 / (count or 1)
                numpy_time = scale * seconds_of(
                    np, bench, lambda f=by_numpy, a=a: f(np, a), args.seconds
                )
                own_time = scale * seconds_of(np, bench, own, args.seconds)
                ratios.append(numpy_time / own_time)
                print_row(
                    name, size, dtype, f"{numpy_time:.3g}", f"{own_time:.3g}", f"{ratios[-1]:.2f}"
                )
    slower = sum(r < 1 for r in ratios)
    mean = statistics.geometric_mean(ratios)
    print(f"geometric mean {mean:.3g}x, {slower} of {len(ratios)} slower")
    sys.exit(slower > 0)


def text_row(name, *cells):
    print(f"{name:<24}" + "".join(f"{cell:>10}" for cell in cells), flush=True)


def markdown_row(*cells):
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


if __name__ == "__main__":
    main()
