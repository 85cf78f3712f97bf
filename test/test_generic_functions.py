"""Generic functions run: a session makes copies of them for the types of their calls."""

import numpy as np
import pytest

import treadle

LIBRARY = """
library {
  function {
    signature {
      name: "axpy"
      input_arg { name: "xs" type_attr: "T" number_attr: "N" }
      input_arg { name: "scale" type_attr: "T" }
      output_arg { name: "sum" type_attr: "T" }
      attr { name: "T" type: "type" }
      attr { name: "N" type: "int" has_minimum: true minimum: 1 }
    }
    node_def {
      name: "add" op: "AddN" input: "xs"
      attr { key: "T" value { placeholder: "T" } }
      attr { key: "N" value { placeholder: "N" } }
    }
    node_def {
      name: "mul" op: "Mul" input: "add:sum:0" input: "scale"
      attr { key: "T" value { placeholder: "T" } }
    }
    ret { key: "sum" value: "mul:z:0" }
  }
}
"""


def placeholder(name, dtype):
    attr = f'attr {{ key: "dtype" value {{ type: {dtype} }} }}'
    return f'node {{ name: "{name}" op: "Placeholder" {attr} }}'


def graph(call_attrs):
    text = (
        placeholder("a", "DT_FLOAT")
        + placeholder("i", "DT_INT32")
        + 'node { name: "f" op: "axpy" input: "a" input: "a" input: "a" '
        + f"{call_attrs} }}"
        + 'node { name: "g" op: "axpy" input: "i" input: "i" '
        + 'attr { key: "T" value { type: DT_INT32 } } attr { key: "N" value { i: 1 } } }'
        + LIBRARY
    )
    return treadle.Graph.from_bytes(text.encode())


FLOATS = 'attr { key: "T" value { type: DT_FLOAT } } attr { key: "N" value { i: 2 } }'


def test_calls_of_several_types_run():
    session = treadle.Session(graph(FLOATS))
    f, g = session.run(["f", "g"], {"a": np.float32(3), "i": np.int32([4, 5])})
    assert f.dtype == np.float32 and f == 18
    assert g.dtype == np.int32 and g.tolist() == [16, 25]


def test_a_call_that_does_not_say_its_types_is_an_error():
    with pytest.raises(treadle.InvalidArgumentError, match="node 'f'.*'T'"):
        graph('attr { key: "N" value { i: 2 } }')
