"""Parts that depend on constants only are computed once, independent of the rest of the graph."""

import numpy as np
import pytest

import treadle

HEAD = """
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "table" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 4 } }
    float_val: [1, 2, 3, 4] } } } }
node { name: "exp" op: "Exp" input: "table" attr { key: "T" value { type: DT_FLOAT } } }
"""
FLOAT = 'attr { key: "T" value { type: DT_FLOAT } }'
ADD = 'node { name: "y" op: "AddV2" input: "x" input: "exp" %s ' + FLOAT + " }"
SWITCH = """
node { name: "p" op: "Const" attr { key: "dtype" value { type: DT_BOOL } }
  attr { key: "value" value { tensor { dtype: DT_BOOL tensor_shape {} bool_val: true } } } }
node { name: "s" op: "Switch" input: "x" input: "p" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "m" op: "Merge" input: "s" input: "s:1" attr { key: "T" value { type: DT_FLOAT } }
  attr { key: "N" value { i: 2 } } }
"""
PRINT = """
node { name: "r" op: "RandomUniform" input: "shape" attr { key: "T" value { type: DT_INT32 } }
  attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "shape" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
  attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { dim { size: 1 } }
    int_val: 1 } } } }
"""
ARRAY = """
node { name: "n" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
  attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape {} int_val: 1 } } } }
node { name: "a" op: "TensorArrayV3" input: "n" attr { key: "dtype" value { type: DT_FLOAT } } }
"""


def calls_of_exp(text, runs=10):
    session = treadle.Session(
        treadle.Graph.from_bytes(text.encode()), trace=True, threads=1, tier="interpret"
    )
    for _ in range(runs):
        value = session.run("y:0", {"x:0": np.zeros(4, np.float32)})
        np.testing.assert_allclose(value, np.exp([1, 2, 3, 4]), rtol=1e-6)
    return sum(row.calls for row in session.profile().ops if row.op == "Exp")


@pytest.mark.parametrize(("beside", "node"), [("", ""), (SWITCH, "m"), (PRINT, "r"), (ARRAY, "a")])
def test_each_node_by_itself(beside, node):
    control = f'input: "^{node}"' if node else ""
    assert calls_of_exp(HEAD + beside + ADD % control) == 2  # in the first run, and once for all


def test_one_large_value_is_left_to_the_runs():
    large = """
node { name: "dims" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
  attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { dim { size: 2 } }
    int_val: [20000, 4] } } } }
node { name: "zero" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 0 } } } }
node { name: "fill" op: "Fill" input: "dims" input: "zero"
  attr { key: "T" value { type: DT_FLOAT } } attr { key: "index_type" value { type: DT_INT32 } } }
node { name: "sums" op: "AddV2" input: "fill" input: "x"
  attr { key: "T" value { type: DT_FLOAT } } }
"""
    session = treadle.Session(
        treadle.Graph.from_bytes((HEAD + large + ADD % "").encode()),
        trace=True,
        threads=1,
        tier="interpret",
    )
    for _ in range(10):
        sums, y = session.run(["sums:0", "y:0"], {"x:0": np.zeros(4, np.float32)})
        assert sums.shape == (20000, 4) and not sums.any()
        np.testing.assert_allclose(y, np.exp([1, 2, 3, 4]), rtol=1e-6)
    calls = {row.op: row.calls for row in session.profile().ops}
    assert calls["Fill"] == 11 and calls["Exp"] <= 3
