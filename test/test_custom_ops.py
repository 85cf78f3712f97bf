"""Ops that Treadle doesn't know, with kernels from treadle.register_op."""

import numpy as np
import pytest

import treadle

PLACEHOLDER = """
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
"""


def graph(text):
    return treadle.Graph.from_bytes((PLACEHOLDER + text).encode())


@pytest.fixture
def register():
    names = set()

    def add(name, function, **options):
        treadle.register_op(name, function, **options)
        names.add(name)

    yield add
    for name in names:
        treadle.unregister_op(name)


def run(graph, fetches, x=(1, 2)):
    return treadle.Session(graph).run(fetches, {"x:0": np.array(x, np.float32)})


FLOAT = 'attr { key: "T" value { type: DT_FLOAT } }'


def test_outputs_are_of_the_dtypes_that_their_users_want(register):
    register("Acme>Twice", lambda x, T: np.float64(x) * 2)
    node = 'node { name: "c" op: "Acme>Twice" input: "x" ' + FLOAT + " }"
    use = 'node { name: "y" op: "Identity" input: "c" ' + FLOAT + " }"
    with pytest.raises(treadle.InvalidArgumentError, match="float64"):
        run(graph(node + use), "y:0")
    register("Acme>Twice", lambda x, T: x * 2)
    assert run(graph(node + use), "y:0").tolist() == [2, 4]


def test_outputs_that_nobody_uses_need_not_be_there(register):
    register("Acme>Split", lambda x: (x[:1], x[1:], np.array(["a"])))
    node = 'node { name: "c" op: "Acme>Split" input: "x" }'
    use = 'node { name: "y" op: "Identity" input: "c:1" ' + FLOAT + " }"
    assert run(graph(node + use), "y:0").tolist() == [2]
    register("Acme>Split", lambda x: x)
    with pytest.raises(treadle.InvalidArgumentError, match="returned 1 values, expected 2"):
        run(graph(node + use), "y:0")


FUNCTION = """
node { name: "y" op: "PartitionedCall" input: "x"
  attr { key: "Tin" value { list { type: DT_FLOAT } } }
  attr { key: "Tout" value { list { type: [DT_FLOAT, DT_FLOAT] } } }
  attr { key: "f" value { func { name: "f" } } } }
library { function {
  signature { name: "f" input_arg { name: "x" type: DT_FLOAT }
    output_arg { name: "p" type: DT_FLOAT } output_arg { name: "q" type: DT_FLOAT } }
  node_def { name: "c" op: "Acme>Split" input: "x" }
  ret { key: "p" value: "c:%s" } ret { key: "q" value: "c:%s" } } }
"""


def test_functions_call_outputs_by_name(register):
    register("Acme>Split", lambda x: (x[:1], x[1:]))
    with pytest.raises(treadle.InvalidArgumentError, match="whose order is unknown"):
        run(graph(FUNCTION % ("b:0", "a:0")), ["y:0", "y:1"])
    register("Acme>Split", lambda x: (x[:1], x[1:]), outputs=["a", "b"])
    second, first = run(graph(FUNCTION % ("b:0", "a:0")), ["y:0", "y:1"])
    assert (first.tolist(), second.tolist()) == ([1], [2])
    with pytest.raises(treadle.InvalidArgumentError, match="'z' is not among the outputs"):
        run(graph(FUNCTION % ("z:0", "a:0")), ["y:0", "y:1"])


def test_an_output_may_be_a_list(register):
    register("Acme>Split", lambda x: (x[:1], x[1:]))
    second, first = run(graph(FUNCTION % ("parts:1", "parts:0")), ["y:0", "y:1"])
    assert (first.tolist(), second.tolist()) == ([1], [2])
    register("Acme>Split", lambda x: (x, [x[:1], x[1:]]), outputs=["all", "parts"])
    both, last = run(graph(FUNCTION % ("all:0", "parts:1")), ["y:0", "y:1"])
    assert (both.tolist(), last.tolist()) == ([1, 2], [2])


def test_a_saved_model_defines_its_ops(register, tmp_path):
    text = """
saved_model_schema_version: 1
meta_graphs {
  meta_info_def { tags: "serve" stripped_op_list { op { name: "Acme>Split"
    input_arg { name: "x" type_attr: "T" }
    output_arg { name: "a" type_attr: "T" } output_arg { name: "b" type_attr: "T" }
    attr { name: "T" type: "type" } } } }
  graph_def {
    node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
    node { name: "y" op: "PartitionedCall" input: "x"
      attr { key: "Tin" value { list { type: DT_FLOAT } } }
      attr { key: "Tout" value { list { type: DT_FLOAT } } }
      attr { key: "f" value { func { name: "f" } } } }
    library { function {
      signature { name: "f" input_arg { name: "x" type: DT_FLOAT }
        output_arg { name: "q" type: DT_FLOAT } }
      node_def { name: "c" op: "Acme>Split" input: "x"
        attr { key: "T" value { type: DT_FLOAT } } }
      ret { key: "q" value: "c:b:0" } } } }
  signature_def { key: "serving_default" value {
    inputs { key: "x" value { name: "x:0" dtype: DT_FLOAT tensor_shape { dim { size: -1 } } } }
    outputs { key: "y" value { name: "y:0" dtype: DT_FLOAT tensor_shape { dim { size: -1 } } } }
    method_name: "tensorflow/serving/predict" } } }
"""
    (tmp_path / "saved_model.pbtxt").write_text(text)
    register("Acme>Split", lambda x, T: (x[:1], x[1:]))
    model = treadle.load(tmp_path).signatures["serving_default"]
    assert model(x=np.array([1, 2], np.float32))["y"].tolist() == [2]
    register("Acme>Split", lambda x, T: x)
    with pytest.raises(treadle.InvalidArgumentError, match="returned 1 values, expected 2"):
        treadle.load(tmp_path).signatures["serving_default"](x=np.array([1, 2], np.float32))


def test_outputs_are_names():
    with pytest.raises(TypeError, match="expected the names of the op's outputs"):
        treadle.register_op("Acme>Twice", lambda x: x, outputs="a")
