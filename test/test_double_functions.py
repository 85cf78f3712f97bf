"""Functions of float64: kernels and compiled code compute by the same formulas."""

import numpy as np
import pytest

import treadle

# The largest error in units in the last place, where numpy has a more precise function.
FUNCTIONS = {
    "Exp": (np.exp, 2),
    "Expm1": (np.expm1, 3),
    "Log": (np.log, 2),
    "Log1p": (np.log1p, 2),
    "Tanh": (np.tanh, 3),
    "Erf": (None, None),
    "Erfc": (None, None),
}


def graph(op, count):
    typed = f"tensor<{count}xf64>"
    return treadle.Graph.from_bytes(
        f"""tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {{
  %x, %xc = Placeholder name("x") {{dtype = f64, shape = #tf_type.shape<{count}>}} : () -> ({typed})
  %f, %fc = {op}(%x) name("f") {{T = f64}} : ({typed}) -> ({typed})
  %y, %yc = Neg(%f) name("y") {{T = f64}} : ({typed}) -> ({typed})
}}
""".encode()
    )


@pytest.mark.parametrize("op", FUNCTIONS)
def test_tiers_give_the_same_bits(op):
    rng = np.random.default_rng(0)
    edges = [0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -1e-310, 709.8, -745.2, 1e308]
    x = np.concatenate(
        [edges, rng.uniform(-30, 30, 20_000), np.exp(rng.uniform(-600, 600, 10_000))]
    )
    loaded = graph(op, len(x))
    (expected,) = treadle.Session(loaded, tier="interpret", denormals="keep").run(
        ["y:0"], {"x:0": x}
    )
    session = treadle.Session(loaded, tier="jit", denormals="keep", statistics=True)
    (found,) = session.run(["y:0"], {"x:0": x})
    assert session.statistics().compiled_calls == 1
    np.testing.assert_array_equal(found, expected)
    number = ~np.isnan(found)
    np.testing.assert_array_equal(np.signbit(found[number]), np.signbit(expected[number]))
    exact, bound = FUNCTIONS[op]
    if exact is None or np.finfo(np.longdouble).eps > 1e-18:
        return
    with np.errstate(all="ignore"):
        true = exact(x.astype(np.longdouble))
        rounded = true.astype(np.float64)
        error = np.abs(-found.astype(np.longdouble) - true) / np.spacing(np.abs(rounded))
    assert np.nanmax(np.where(np.isfinite(rounded), error, 0)) <= bound
    np.testing.assert_array_equal(np.isnan(found), np.isnan(rounded))
