"""Texts of the tf dialect as TensorFlow's tools and documents print them."""

import subprocess

import numpy as np
import pytest
from command_line import BINARY

import treadle


def run(text, *inputs, folder):
    path = folder / "program.mlir"
    path.write_text(text)
    options = [part for value in inputs for part in ("--input", value)]
    done = subprocess.run([BINARY, "run", path, *options], capture_output=True, text=True)
    return done.stdout.strip() or done.stderr.strip()


ABS = """func.func @main(%x: tensor<2xf32>, %y: tensor<f32>) -> tensor<2xf32> {
  %0 = "tf.Abs"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = "tf.Sub"(%0, %y) : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32> loc("1")
  return %1 : tensor<2xf32>
}
"""


def test_inputs_are_named_by_place(tmp_path):
    assert "= [0.0 1.0]" in run(ABS, "0=[1,-2]", "arg1=1", folder=tmp_path)


def test_a_node_goes_before_a_place(tmp_path):
    # '1' is the difference, so that the second argument has no value.
    assert "= [5.0 6.0]" in run(ABS, "0=[1,-2]", "1=[5.0,6.0]", folder=tmp_path)
    assert "no node '2'" in run(ABS, "2=1", folder=tmp_path)


FRAGMENT = """
  // Nothing defines %p and %x.
  %0, %1 = "tf.IfRegion"(%p) ({
     %a = "tf.Abs"(%x) : (tensor<2xf32>) -> tensor<2xf32>
    "tf.Yield"(%a, %x) : (tensor<2xf32>, tensor<2xf32>) -> ()
  }, {
     %n = "tf.Neg"(%x) : (tensor<2xf32>) -> tensor<2xf32>
    "tf.Yield"(%n, %x) : (tensor<2xf32>, tensor<2xf32>)
  }) : (tensor<i1>) -> (tensor<2xf32>, tensor<2xf32>)
  %3 = "tf.Add"(%0, %1) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
"""


def test_a_body_without_its_function(tmp_path):
    assert "= [2.0 0.0]" in run(FRAGMENT, "0=true", "1=[1,-2]", folder=tmp_path)
    assert "= [0.0 0.0]" in run(FRAGMENT, "0=false", "1=[1,-2]", folder=tmp_path)
    text = "%r = stablehlo.add %a, %b : tensor<2xi32>\n%s = stablehlo.negate %r : tensor<2xi32>\n"
    assert "= [-4 -6]" in run(text, "0=[1,2]", "1=[3,4]", folder=tmp_path)


def constant(attribute, resources=""):
    return f"""func.func @main() -> tensor<2xf32> {{
  %0 = "tf.Const"() <{{value = {attribute}}}> : () -> tensor<2xf32>
  return %0 : tensor<2xf32>
}}
{{-#
  dialect_resources: {{ builtin: {{ {resources} }} }}
#-}}
"""


@pytest.mark.parametrize(
    "attribute",
    ['dense<"0x0000803F00000040">', "dense_resource<held>", "dense<[1.0, 2.0]>"],
)
def test_constants_in_other_forms(attribute, tmp_path):
    text = constant(f"{attribute} : tensor<2xf32>", 'held: "0x040000000000803F00000040"')
    assert "= [1.0 2.0]" in run(text, folder=tmp_path)


@pytest.mark.parametrize(
    "attribute, message",
    [
        (
            "dense_resource<__elided__>",
            "has no elements: they were elided when the text was printed",
        ),
        ("dense_resource<other>", "in the resource 'other', which is not in the text"),
        ("dense_resource<short>", "of 8 bytes, but the resource 'short' has 4"),
    ],
)
def test_constants_without_their_elements(attribute, message, tmp_path):
    text = constant(f"{attribute} : tensor<2xf32>", 'short: "0x040000000000803F"')
    assert message in run(text, folder=tmp_path)
    hlo = text.replace('"tf.Const"() <{value = ', "stablehlo.constant ").replace(
        "}> : () -> tensor<2xf32>", ""
    )
    assert message in run(hlo, folder=tmp_path)


def test_resources_of_bools_hold_bytes(tmp_path):
    text = """func.func @main() -> tensor<9xi1> {
  %0 = stablehlo.constant dense_resource<b> : tensor<9xi1>
  return %0 : tensor<9xi1>
}
{-#
  dialect_resources: { builtin: { b: "0x01000000010001000000000001" } }
#-}
"""
    assert "[True False True False False False False False True]" in run(text, folder=tmp_path)


def test_a_tensor_that_tensorflow_wrote_as_text():
    proto = 'tftensor$dtype: DT_INT4 tensor_shape { dim { size: 2 } } tensor_content: "\\001\\375"'
    text = f"""func.func @main() -> tensor<2xi32> {{
  %0 = "tf.Const"() <{{value = #tf_type<tensor_proto : "0x{proto.encode().hex()}"> : tensor<2xi4>}}>
      : () -> tensor<2xi4>
  %1 = "tf.Cast"(%0) : (tensor<2xi4>) -> tensor<2xi32> loc("y")
  return %1 : tensor<2xi32>
}}
"""
    graph = treadle.Graph.from_bytes(text.encode())
    assert np.array_equal(treadle.Session(graph).run("y:0"), [1, -3])
    with pytest.raises(treadle.InvalidArgumentError, match="attribute 'value' can't be read"):
        treadle.Graph.from_bytes(text.replace(proto.encode().hex(), b"tftensor$x".hex()).encode())


CALLS = """
func.func @main(%n: tensor<i32>) -> (tensor<i32>, tensor<?xf32>) {
  %size = "tf.Const"() {value = dense<[]> : tensor<0xi32>} : () -> tensor<0xi32>
  %list = "tf.EmptyTensorList"(%size, %n) : (tensor<0xi32>, tensor<i32>)
      -> tensor<!tf_type.variant<tensor<f32>>>
  %w = "tf.WhileRegion"(%n) ({
  ^bb0(%i: tensor<i32>):
    %c = func.call @more(%i) : (tensor<i32>) -> tensor<i1>
    "tf.Yield"(%c) : (tensor<i1>) -> ()
  }, {
  ^bb0(%i: tensor<i32>):
    %r = "func.call"(%i) {callee = @less} : (tensor<i32>) -> tensor<i32>
    "tf.Yield"(%r) : (tensor<i32>) -> ()
  }) {is_stateless = false} : (tensor<i32>) -> tensor<i32>
  %s = "tf.TensorListStack"(%list, %size) {num_elements = -1}
      : (tensor<!tf_type.variant<tensor<f32>>>, tensor<0xi32>) -> tensor<?xf32>
  return %w, %s : tensor<i32>, tensor<?xf32>
}
func.func private @more(%i: tensor<i32>) -> tensor<i1> {
  %limit = "tf.Const"() {value = dense<3> : tensor<i32>} : () -> tensor<i32>
  %r = "tf.Greater"(%i, %limit) : (tensor<i32>, tensor<i32>) -> tensor<i1>
  return %r : tensor<i1>
}
func.func private @less(%i: tensor<i32>) -> tensor<i32> {
  %two = "tf.Const"() {value = dense<2> : tensor<i32>} : () -> tensor<i32>
  %r = "tf.Sub"(%i, %two) : (tensor<i32>, tensor<i32>) -> tensor<i32>
  return %r : tensor<i32>
}
"""


@pytest.mark.parametrize("tier", ["interpret", "jit"])
def test_regions_that_call_functions(tier):
    graph = treadle.Graph.from_bytes(CALLS.encode())
    results = treadle.Session(graph, tier=tier).run(
        [value.name for value in graph.outputs()], {graph.inputs()[0].name: np.int32(8)}
    )
    assert results[0] == 2
    assert results[1].dtype == np.float32 and results[1].shape == (0,)
