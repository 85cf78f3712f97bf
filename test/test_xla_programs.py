"""Programs of StableHLO in XlaCallModule nodes, as jax2tf and Keras on JAX write them."""

from pathlib import Path

import numpy as np
import pytest

import treadle

MODELS = Path(__file__).parent / "models"


def floats(*values):
    return np.array(values, np.float32)


@pytest.fixture(scope="module", params=["interpret", "jit"])
def functions(request):
    return treadle.load(MODELS / "jax2tf", tier=request.param).functions


def test_a_program_is_a_function(functions):
    x = floats(1, 2, 3)
    np.testing.assert_allclose(functions["fixed"](x), np.sin(x) * 2 + 6, rtol=1e-6)
    np.testing.assert_array_equal(functions["layer"]([[1, 2]]), floats([5, 0]))


def test_sizes_may_be_open(functions):
    for rows in (1, 3):
        product, count = functions["sizes"](
            np.ones((rows, 2), np.float32), np.ones((2, 4), np.float32)
        )
        np.testing.assert_array_equal(product, np.full((rows, 4), 2))
        assert count == rows
        sums, each = functions["loop"](np.ones((rows, 2), np.float32))
        np.testing.assert_array_equal(sums, floats(rows, rows))
        np.testing.assert_allclose(each[-1], np.tanh(floats(rows, rows)), rtol=1e-6)
    np.testing.assert_array_equal(functions["even"](floats(1, 2, 3, 4)), floats(3, 7))
    with pytest.raises(treadle.InvalidArgumentError, match="Division had remainder"):
        functions["even"](floats(1, 2, 3))


def test_of_several_platforms_the_cpu_is_chosen(functions):
    np.testing.assert_array_equal(functions["platforms"](floats(1, 2)), floats(2, 3))
    with pytest.raises(treadle.UnimplementedError, match="exported for CUDA, not for the CPU"):
        functions["others"](floats(1, 2))


@pytest.mark.parametrize("tier", ["interpret", "jit"])
def test_a_net_of_keras_on_jax(tier):
    answer = np.load(MODELS / "keras.npz")
    model = treadle.load(MODELS / "keras", tier=tier)
    [found] = model.signatures["serving_default"](answer["in/0"]).values()
    np.testing.assert_allclose(found, answer["out/0"], rtol=1e-5)
    np.testing.assert_array_equal(model.functions["serve"](answer["in/0"]), found)


def test_nodes_stay_in_files(tmp_path):
    graph = treadle.Graph.from_file(MODELS / "jax2tf")
    graph.to_file(str(tmp_path / "again"))
    again = treadle.Graph.from_file(tmp_path / "again")
    assert not treadle.diff(graph, again)
    assert again.text().count("= XlaCallModule(") == 7


def node(program, dtypes=("DT_FLOAT",), results=("DT_FLOAT",), version=9, attrs="", functions=""):
    """A graph of placeholders and one node."""

    def types(names):
        return " ".join(f"type: {name}" for name in names)

    inputs = [f"x{i}" for i in range(len(dtypes))]
    placeholders = [
        f'node {{ name: "{name}" op: "Placeholder"'
        f' attr {{ key: "dtype" value {{ type: {dtype} }} }}'
        f' attr {{ key: "shape" value {{ shape {{ unknown_rank: true }} }} }} }}'
        for name, dtype in zip(inputs, dtypes, strict=True)
    ]
    listed = " ".join(f'input: "{name}"' for name in inputs)
    text = program.replace("\n", " ").replace('"', '\\"')
    call = f"""node {{ name: "y" op: "XlaCallModule" {listed}
      attr {{ key: "Tin" value {{ list {{ {types(dtypes)} }} }} }}
      attr {{ key: "Tout" value {{ list {{ {types(results)} }} }} }}
      attr {{ key: "Sout" value {{ list {{ {"shape { unknown_rank: true } " * len(results)} }} }} }}
      attr {{ key: "version" value {{ i: {version} }} }}
      attr {{ key: "module" value {{ s: "{text}" }} }} {attrs} }}"""
    return "\n".join([*placeholders, call, functions, "versions { producer: 1882 }"]).encode()


def strings(key, *values):
    listed = " ".join(f's: "{value}"' for value in values)
    return f'attr {{ key: "{key}" value {{ list {{ {listed} }} }} }}'


def run(graph, *values, fetch="y:0"):
    return treadle.Session(graph).run(fetch, {f"x{i}:0": value for i, value in enumerate(values)})


ADD_SIZE = """func.func @main(%n: tensor<i64>, %m: tensor<i32>, %x: tensor<?x?xf32>)
    -> tensor<i64> {
  %k = stablehlo.convert %m : (tensor<i32>) -> tensor<i64>
  %t = stablehlo.constant dense<10> : tensor<i64>
  %a = stablehlo.multiply %n, %t : tensor<i64>
  %r = stablehlo.add %a, %k : tensor<i64>
  return %r : tensor<i64>
}"""


@pytest.mark.parametrize("version", [3, 4, 8])
def test_sizes_as_arguments(version):
    graph = node(
        ADD_SIZE,
        results=["DT_INT64"],
        version=version,
        attrs=strings("dim_args_spec", "0.1", "0.0"),
    )
    assert run(graph, np.zeros((2, 3), np.float32)) == 32


PLATFORM = """func.func @main(%n: tensor<i32>, %x: tensor<f32>) -> tensor<i32> {
  return %n : tensor<i32>
}"""


def test_platforms():
    graph = node(PLATFORM, results=["DT_INT32"], attrs=strings("platforms", "TPU", "CPU"))
    assert run(graph, np.float32(0)) == 1
    only = "func.func @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }"
    cuda = strings("platforms", "CUDA")
    with pytest.raises(treadle.UnimplementedError, match="exported for CUDA"):
        run(node(only, attrs=cuda), np.float32(1))
    unchecked = cuda + strings("disabled_checks", "platform")
    assert run(node(only, attrs=unchecked), np.float32(1)) == 1


TOKENS = """func.func @main(%t: !stablehlo.token, %x: tensor<f32>)
    -> (!stablehlo.token, tensor<f32>) {
  %u = stablehlo.after_all %t, %t : !stablehlo.token
  %r:2 = stablehlo.custom_call @tf.call_tf_function(%u, %x) {has_side_effect = true,
    tf.backend_config = {called_index = 1 : i64, has_token_input_output = true}}
    : (!stablehlo.token, tensor<f32>) -> (!stablehlo.token, tensor<f32>)
  return %r#0, %r#1 : !stablehlo.token, tensor<f32>
}"""
FUNCTIONS = """library { function {
  signature { name: "twice" input_arg { name: "a" type: DT_FLOAT }
              output_arg { name: "r" type: DT_FLOAT } }
  node_def { name: "s" op: "AddV2" input: "a" input: "a"
             attr { key: "T" value { type: DT_FLOAT } } }
  ret { key: "r" value: "s:z:0" } } }"""
LISTED = """attr { key: "function_list"
  value { list { func { name: "other" } func { name: "twice" } } } }
attr { key: "has_token_input_output" value { b: true } }"""


def test_tokens_and_calls_of_the_graphs_functions():
    graph = node(TOKENS, attrs=LISTED, functions=FUNCTIONS)
    assert run(graph, np.float32(4)) == 8
    with pytest.raises(treadle.UnimplementedError, match="program that isn't in an XlaCallModule"):
        treadle.Graph.from_bytes(TOKENS.encode())


def test_shapes_are_checked():
    graph = node(
        "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> }"
    )
    np.testing.assert_array_equal(run(graph, floats(1, 2)), floats(1, 2))
    with pytest.raises(treadle.InvalidArgumentError, match=r"y/argument.*\[3\], expected \[2\]"):
        run(graph, floats(1, 2, 3))


def test_nodes_that_nobody_needs_may_be_damaged():
    graph = node("nonsense")
    assert run(graph, np.float32(5), fetch="x0:0") == 5
    with pytest.raises(treadle.InvalidArgumentError, match="'y'.*its program: .*isn't MLIR"):
        run(graph, np.float32(5))
