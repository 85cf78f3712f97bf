"""Compares what XLA gives for a program of StableHLO with what is in a file beside it, and prints
what differs. A Python that has JAX runs it.

    python on_xla.py PROGRAM.mlir
"""

import os
import pathlib
import re
import sys

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import numpy as np
from arguments import arguments_of, difference, types_of
from jax._src.interpreters import mlir
from jax._src.lib import _jax
from jaxlib.mlir import ir

ELEMENTS = {
    "bfloat16": "bf16",
    "float16": "f16",
    "float32": "f32",
    "float64": "f64",
    "bool": "i1",
    "complex64": "complex<f32>",
    "complex128": "complex<f64>",
}


def element_of(dtype):
    name = str(dtype)
    return ELEMENTS.get(name) or name.replace("uint", "ui").replace("int", "i")


def type_of(value):
    return f"tensor<{''.join(f'{dim}x' for dim in value.shape)}{element_of(value.dtype)}>"


def called_with(text, values):
    """The program with an @main of known sizes, which calls the old one, and what it takes: all but
    the first argument, if that tells the sizes."""
    arguments, results = types_of(text)
    lines, names, rest = [], [], values
    if arguments[0] == "tensor<i64>":
        size, *rest = values
        lines.append(f"%size = stablehlo.constant dense<{int(size)}> : tensor<i64>")
        names.append("%size")
    for i, (value, wanted) in enumerate(zip(rest, arguments[-len(rest) :], strict=True)):
        names.append(f"%w{i}")
        lines.append(f"%w{i} = stablehlo.convert %v{i} : ({type_of(value)}) -> {wanted}")
    many = len(results) > 1
    lines.append(
        f"%r{f':{len(results)}' if many else ''} = func.call @inner({', '.join(names)}) : "
        f"({', '.join(arguments)}) -> ({', '.join(results)})"
    )
    given = [f"%r#{i}" if many else "%r" for i in range(len(results))]
    lines.append(f"return {', '.join(given)} : {', '.join(results)}")
    head = ", ".join(f"%v{i}: {type_of(value)}" for i, value in enumerate(rest))
    body = "\n".join(lines)
    main = f"func.func public @main({head}) -> ({', '.join(results)}) {{\n{body}\n}}\n"
    whole = text if re.search(r"^module\b", text, re.MULTILINE) else f"module {{\n{text}\n}}\n"
    inner = whole.replace("func.func public @main", "func.func private @main")
    begin = inner.index("{") + 1
    return inner[:begin] + "\n" + main + inner[begin:].replace("@main", "@inner"), rest


def computed(text, values):
    device = jax.devices("cpu")[0]
    whole, given = called_with(text, values)
    with mlir.make_ir_context(), ir.Location.unknown():
        code = mlir.module_to_bytecode(ir.Module.parse(whole))
    code = _jax.mlir.refine_polymorphic_shapes(code, True, True)
    program = device.client.compile_and_load(code, [device])
    arrays = program.execute_sharded([jax.device_put(value) for value in given])
    return [np.asarray(a[0]) for a in arrays.disassemble_into_single_device_arrays()]


def main():
    jax.config.update("jax_enable_x64", True)
    path = pathlib.Path(sys.argv[1])
    given = np.load(path.with_suffix(".npz"))
    text = path.read_text()
    results = computed(text, arguments_of(text))
    got = [
        given[f"arr_{i}"].view(w.dtype)
        if given[f"arr_{i}"].dtype.kind == "V"
        else given[f"arr_{i}"]
        for i, w in enumerate(results)
    ]
    print(difference(got, results) or "")


if __name__ == "__main__":
    main()
