"""Random arguments for programs of StableHLO that don't give their own."""

import re

import ml_dtypes
import numpy as np

OPEN = 3  # each size that a program leaves open
TENSOR = r"tensor<(?:[^<>]|<[^<>]*>)*>"
MAIN = re.compile(r"func\.func (?:public )?@main\((.*?)\)\s*->\s*(.*?)\s*\{\n", re.DOTALL)
FLOATS = {
    "f32": np.float32,
    "f64": np.float64,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "complex<f32>": np.complex64,
    "complex<f64>": np.complex128,
}


def types_of(text):
    """The types of the arguments of @main, and of its results."""
    arguments, results = MAIN.search(text).groups()
    return (
        re.findall(rf"%\w+\s*:\s*({TENSOR})", arguments),
        re.findall(TENSOR, re.sub(r"\{.*?\}", "", results)),
    )


def dtype_of(element):
    if element in FLOATS:
        return np.dtype(FLOATS[element])
    kind = "bool" if element == "i1" else element.replace("ui", "uint").replace("i", "int", 1)
    return np.dtype("uint" + element[2:] if element.startswith("ui") else kind)


def argument_of(tensor, index, rng):
    """The first one, if it is a scalar, tells the size of the others."""
    sizes, element = re.fullmatch(r"tensor<((?:[\d?]+x)*)(.*)>", tensor).groups()
    dims = [OPEN if dim == "?" else int(dim) for dim in sizes.split("x")[:-1]]
    dtype = dtype_of(element)
    if index == 0 and not dims and element == "i64":
        return np.int64(OPEN)
    if dtype.kind in "biu":
        return np.asarray(rng.integers(0, 2 if dtype.kind == "b" else 4, dims)).astype(dtype)
    values = rng.uniform(-2, 2, dims)
    if dtype.kind == "c":
        values = values + 1j * rng.uniform(-2, 2, dims)
    return np.asarray(values).astype(dtype)


def arguments_of(text):
    rng = np.random.default_rng(1)
    return [argument_of(tensor, i, rng) for i, tensor in enumerate(types_of(text)[0])]


def difference(got, wanted):
    """Describes the first difference of two lists of results; empty if there is none."""
    if len(got) != len(wanted):
        return f"{len(got)} results and {len(wanted)}"
    for i, (x, y) in enumerate(zip(got, wanted, strict=True)):
        if x.shape != y.shape or x.dtype != y.dtype:
            return f"result {i} is {x.dtype}{list(x.shape)} and {y.dtype}{list(y.shape)}"
        wide = np.complex128 if x.dtype.kind == "c" else np.float64
        tolerance = 2e-2 if x.dtype.itemsize == 2 else 2e-5
        if not np.allclose(x.astype(wide), y.astype(wide), tolerance, tolerance, equal_nan=True):
            return f"result {i} is {x.ravel()[:4]}... and {y.ravel()[:4]}..."
    return None
