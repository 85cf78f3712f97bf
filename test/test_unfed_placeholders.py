"""Unused results of calls, branches and loops aren't computed, and need no placeholders."""

import pytest

import treadle

GRAPH = """tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
  %x, %0 = Placeholder name("x") {dtype = i32, shape = #tf_type.shape<>} : () -> (tensor<i32>)
  %z, %1 = Placeholder name("z") {dtype = i32, shape = #tf_type.shape<>} : () -> (tensor<i32>)
  %p, %2 = Less(%z, %z) name("p") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
  %k, %3 = Const name("k") {dtype = i32, value = dense<1> : tensor<i32>} : () -> (tensor<i32>)
  %sq, %4 = Square(%x) name("sq") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %r:2, %5 = CALL -> (tensor<*xi32>, tensor<*xi32>)
  %y, %6 = Identity(%r#NEEDS_Z) name("y") {T = i32} : (tensor<*xi32>) -> (tensor<*xi32>)
  %w, %7 = Identity(%r#NEEDS_X) name("w") {T = i32} : (tensor<*xi32>) -> (tensor<*xi32>)
}
tfg.func @bar(ARGUMENTS) -> (RESULTS) {
  %n, %c = Neg(%b) name("n") {T = i32} : (tensor<*xi32>) -> (tensor<*xi32>)
  %m, %d = Square(%a) name("m") {T = i32} : (tensor<*xi32>) -> (tensor<*xi32>)
  return(%n, %m) : tensor<*xi32>, tensor<*xi32>
}
tfg.func @outer(ARGUMENTS) -> (RESULTS) {
  %q, %e = Placeholder name("q") {dtype = i32, shape = #tf_type.shape<>} : () -> (tensor<*xi32>)
  %i:2, %f = PartitionedCall(%q, %b) INNER
   -> (tensor<*xi32>, tensor<*xi32>)
  %m, %d = AddV2(%a, %i#1) name("m") {T = i32} : (tensor<*xi32>, tensor<*xi32>) -> (tensor<*xi32>)
  return(%i#0, %m) : tensor<*xi32>, tensor<*xi32>
}
tfg.func @cond(ARGUMENTS) -> (tensor<*xi1> {tfg.name = "y"}) {
  %k, %e = Const name("k") {dtype = i32, value = dense<0> : tensor<i32>} : () -> (tensor<i32>)
  %n, %c = Greater(%b, %k) name("n") {T = i32} : (tensor<*xi32>, tensor<i32>) -> (tensor<*xi1>)
  return(%n) : tensor<*xi1>
}
tfg.func @body(ARGUMENTS) -> (RESULTS) {
  %n, %c = Neg(%b) name("n") {T = i32} : (tensor<*xi32>) -> (tensor<*xi32>)
  %m, %d = Square(%a) name("m") {T = i32} : (tensor<*xi32>) -> (tensor<*xi32>)
  return(%m, %n) : tensor<*xi32>, tensor<*xi32>
}
"""

TYPES = "Tin = [i32, i32], Tout = [i32, i32]"
FUNCTION = TYPES + ", config = '', config_proto = '', executor_type = ''"
FUNCTION += ", f = #tf_type.func<@{}, {{}}>"
BRANCHES = TYPES + ", Tcond = i1, output_shapes = [], then_branch = #tf_type.func<@outer, {{}}>"
BRANCHES += ", else_branch = #tf_type.func<@bar, {{}}>"
CASES = (
    TYPES + ", output_shapes = [], branches = [#tf_type.func<@outer, {}>, #tf_type.func<@bar, {}>]"
)
LOOP = "T = [i32, i32], cond = #tf_type.func<@cond, {}>, body = #tf_type.func<@body, {}>"
LOOP += ", output_shapes = [], parallel_iterations = 10"
TWO, FLAG = "(tensor<i32>, tensor<i32>)", "(tensor<i1>, tensor<i32>, tensor<i32>)"
INDEX = "(tensor<i32>, tensor<i32>, tensor<i32>)"


def node(op, operands, attributes, types):
    quoted = attributes.replace("''", '""').replace("{{", "{").replace("}}", "}")
    return f'{op}({operands}) name("c") {{{quoted}}} : {types}'


UNKNOWN = "tensor<*xi32>"
WORDS = {
    "ARGUMENTS": f'%a: {UNKNOWN} {{tfg.name = "a"}}, %b: {UNKNOWN} {{tfg.name = "b"}}',
    "RESULTS": f'{UNKNOWN} {{tfg.name = "y"}}, {UNKNOWN} {{tfg.name = "w"}}',
    "INNER": node("", "", FUNCTION.format("bar"), f"({UNKNOWN}, {UNKNOWN})")[3:],
}

# By name: the call, and whether its second result is the one that needs z alone.
CALLS = {
    "call": (node("PartitionedCall", "%x, %z", FUNCTION.format("bar"), TWO), 0),
    "computed": (node("PartitionedCall", "%sq, %z", FUNCTION.format("bar"), TWO), 0),
    "stateful": (node("StatefulPartitionedCall", "%x, %z", FUNCTION.format("bar"), TWO), 0),
    "legacy": (f'bar(%x, %z) name("c") : {TWO}', 0),
    "nested": (node("PartitionedCall", "%x, %z", FUNCTION.format("outer"), TWO), 0),
    "if": (node("If", "%p, %x, %z", BRANCHES, FLAG), 0),
    "lowered if": (
        node("StatelessIf", "%p, %x, %z", "_lower_using_switch_merge = true, " + BRANCHES, FLAG),
        0,
    ),
    "case": (node("Case", "%k, %x, %z", CASES, INDEX), 0),
    "while": (node("While", "%x, %z", LOOP, TWO), 1),
    "stateless while": (node("StatelessWhile", "%x, %z", LOOP, TWO), 1),
}


@pytest.mark.parametrize("tier", ["interpret", "auto", "jit"])
@pytest.mark.parametrize("name", CALLS)
def test_what_a_call_does_not_need_is_not_run(tmp_path, name, tier):
    call, place = CALLS[name]
    text = GRAPH
    words = {"CALL": call, "NEEDS_Z": str(place), "NEEDS_X": str(1 - place)}
    for word, meaning in (WORDS | words).items():
        text = text.replace(word, meaning)
    path = tmp_path / "graph.mlir"
    path.write_text(text)
    session = treadle.Session(path, tier=tier)
    for _ in range(2):
        assert session.run(["y:0"], {"z:0": 5})[0] == -5
    with pytest.raises(treadle.InvalidArgumentError, match="Placeholder.* 'x' has no value"):
        session.run(["w:0"], {"z:0": 5})
