"""Programs in MLIR's text form: written, run, and their results compared."""

import textwrap

import numpy as np

import treadle


def function(body, arguments, results):
    """@main of a body that takes %a, %b, ... and gives %r, or %r0, %r1, ... of several results."""
    names = ["%r"] if len(results) == 1 else [f"%r{i}" for i in range(len(results))]
    head = ", ".join(f"%{chr(97 + i)}: tensor<{t}>" for i, t in enumerate(arguments))
    types = ", ".join(f"tensor<{t}>" for t in results)
    return (
        f"func.func @main({head}) -> ({types}) {{\n{textwrap.indent(textwrap.dedent(body), '  ')}\n"
        f"  return {', '.join(names)} : {types}\n}}\n"
    )


def runner(folder, **options):
    """run(TEXT, VALUES...): the list of what @main returns, loaded from a file in `folder`."""

    def run(text, *values):
        path = folder / "program.mlir"
        path.write_text(text)
        return list(treadle.load(path, **options).signatures["main"](*values).values())

    return run


def same(got, *wanted, rtol=1e-5, atol=1e-6):
    assert len(got) == len(wanted)
    for value, expected in zip(got, wanted, strict=True):
        expected = np.asarray(expected)
        assert value.dtype == expected.dtype and value.shape == expected.shape
        np.testing.assert_allclose(value, expected, rtol=rtol, atol=atol)
