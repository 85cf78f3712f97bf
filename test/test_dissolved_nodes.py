"""Effects in conditionals and loops that TensorFlow dissolves into a session's graph."""

import numpy as np
import pytest

import treadle

HANDLE = "tensor<!tf_type.resource>"
HANDLES = "%a, %b, %c, %d"
ARGUMENTS = ["p: tensor<i1>", "x: tensor<i32>", *(f"{v}: {HANDLE}" for v in "abcd")]
INPUTS = f"%p, %x, {HANDLES}"
TYPES = f"(tensor<i1>, tensor<i32>, {HANDLE}, {HANDLE}, {HANDLE}, {HANDLE})"
TWO = "(tensor<i32>, tensor<i32>)"
KINDS = "Tin = [i1, i32" + ", !tf_type.resource" * 4 + "], Tout = [i32, i32]"


def constant(name, value):
    return f"""%{name}, %t_{name} = Const name("{name}")
      {{dtype = i32, value = dense<{value}> : tensor<i32>}} : () -> (tensor<i32>)
"""


def identity(name, value, token="", kind="i32"):
    token = f" [{token}]" if token else ""
    return f"""%{name}, %t_{name} = Identity({value}){token} name("{name}") {{T = {kind}}}
      : (tensor<{kind}>) -> (tensor<{kind}>)
"""


def binary(name, op, values, kind="i32"):
    return f"""%{name}, %t_{name} = {op}({values}) name("{name}") {{T = i32}}
      : (tensor<i32>, tensor<i32>) -> (tensor<{kind}>)
"""


def function(name, effects, results, control="", nodes=""):
    """Adds 1 to each variable of `effects`. Results are %x after one of them ('.': none), or other
    values; `control` are control results."""
    arguments = ", ".join(f'%{a} {{tfg.name = "{a[0]}"}}' for a in ARGUMENTS)
    text = f"tfg.func @{name}({arguments}) -> (RESULTS) attributes {{is_stateful}} {{\n{nodes}"
    text += constant("one", 1)
    for v in effects:
        text += f'%add_{v} = AssignAddVariableOp(%{v}, %one) name("add_{v}") {{dtype = i32}}'
        text += f" : {HANDLE}, tensor<i32>\n"
    values, types = [], []
    for i, result in enumerate(results):
        if result.startswith("%"):
            value, _, kind = result.partition(" ")
        else:
            token = "" if result == "." else f"%add_{result}"
            text += identity(f"r{i}", "%x", token)
            value, kind = f"%r{i}", "i32"
        values.append(value)
        types.append(HANDLE if kind == "handle" else f"tensor<{kind or 'i32'}>")
    tokens = ", ".join(f'%add_{v} {{tfg.name = "add_{v}"}}' for v in control)
    declared = ", ".join(f'{kind} {{tfg.name = "o{i}"}}' for i, kind in enumerate(types))
    text = text.replace("RESULTS", declared)
    tokens = f" [{tokens}]" if tokens else ""
    return text + f"return({', '.join(values)}){tokens} : {', '.join(types)}\n}}\n"


def conditional(name, then, otherwise, flag="true"):
    return f"""%{name}:2, %t_{name} = If({INPUTS.replace("%p", "%p, %p", 1)}) name("{name}") {{
      Tcond = i1, {KINDS}, output_shapes = [], then_branch = #tf_type.func<@{then}, {{}}>,
      else_branch = #tf_type.func<@{otherwise}, {{}}>, _lower_using_switch_merge = {flag}}}
      : {TYPES.replace("(", "(tensor<i1>, ", 1)} -> {TWO}
"""


def choice(name, *branches):
    named = ", ".join(f"#tf_type.func<@{branch}, {{}}>" for branch in branches)
    return f"""%{name}:2, %t_{name} = Case(%x, {INPUTS}) name("{name}") {{{KINDS},
      output_shapes = [], branches = [{named}], _lower_using_switch_merge = true}}
      : {TYPES.replace("(", "(tensor<i32>, ", 1)} -> {TWO}
"""


def call(name, callee):
    return f"""%{name}:2, %t_{name} = StatefulPartitionedCall({INPUTS}) name("{name}") {{{KINDS},
      config = "", config_proto = "", executor_type = "", f = #tf_type.func<@{callee}, {{}}>,
      _lower_as_multi_device_function = true}} : {TYPES} -> {TWO}
"""


def loop(name, cond, body):
    return f"""%{name}:6, %t_{name} = While(%p, %x, {HANDLES}) name("{name}") {{
      T = [i1, i32{", !tf_type.resource" * 4}], output_shapes = [], parallel_iterations = 10,
      cond = #tf_type.func<@{cond}, {{}}>, body = #tf_type.func<@{body}, {{}}>,
      _lower_using_switch_merge = true}} : {TYPES} -> {TYPES}
"""


GOES_ON = constant("zero", 0) + binary("more", "Greater", "%x, %zero", "i1")
DOWN = binary("down", "Sub", "%x, %one")
NOT = '%not, %tn = LogicalNot(%p) name("not") {} : (tensor<i1>) -> (tensor<i1>)\n'
PASSED = [f"%{v} handle" for v in "abcd"]


NONE = function("none", "", "..")
PROGRAMS = {
    "if": conditional("n", "f", "g") + "}" + function("f", "ab", "ab") + function("g", "cd", "cd"),
    "if_undissolved": conditional("n", "f", "g", "false")
    + "}"
    + function("f", "ab", "ab")
    + function("g", "cd", "cd"),
    "if_control": conditional("n", "f", "none")
    + "}"
    + function("f", "abcd", "a.", control="b")
    + NONE,
    "if_loose": conditional("n", "f", "g")
    + "}"
    + function("f", "ab", "..", control="b")
    + function("g", "cd", ".c"),
    "case": choice("n", "none", "f", "g")
    + "}"
    + NONE
    + function("f", "abc", "ab", control="c")
    + function("g", "cd", "cd"),
    "call": call("n", "f") + "}" + function("f", "abcd", "ab", control="c"),
    "nested": conditional("n", "f", "none")
    + "}"
    + function("f", "d", ["%i#0", "%i#1"], nodes=conditional("i", "g", "none"), control="d")
    + function("g", "abc", "ab", control="c")
    + NONE,
    "nested_undissolved": conditional("n", "f", "none")
    + "}"
    + function("f", "d", ["%i#0", "%i#1"], nodes=conditional("i", "g", "none", "false"))
    + function("g", "abc", "ab", control="c")
    + NONE,
    "while": loop("n", "more", "body")
    + "}"
    + function("more", "", ["%more i1"], nodes=GOES_ON)
    + function(
        "body",
        "abc",
        ["%held i1", "%down", *PASSED],
        "b",
        nodes=identity("held", "%p", "%add_a", "i1") + DOWN,
    ),
    "while_condition": loop("n", "more", "body")
    + "}"
    + function(
        "more",
        "ab",
        ["%held i1"],
        nodes=GOES_ON + identity("held", "%more", "%add_a", "i1"),
        control="",
    )
    + function(
        "body",
        "cd",
        ["%p i1", "%held", *PASSED],
        nodes=DOWN + identity("held", "%down", "%add_c"),
        control="",
    ),
    "while_once": loop("n", "flag", "once")
    + "}"
    + function("flag", "", ["%p i1"])
    + function("once", "ab", ["%not i1", "a", *PASSED], nodes=NOT),
    "while_of_if": loop("n", "more", "body")
    + "}"
    + function("more", "", ["%more i1"], nodes=GOES_ON)
    + function(
        "body",
        "d",
        ["%p i1", "%sum", *PASSED],
        nodes=conditional("i", "f", "none")
        + DOWN
        + identity("first", "%i#0", "%t_down")
        + binary("sum", "Sub", "%first, %one"),
    )
    + function("f", "abc", "ab", control="c")
    + NONE,
    "if_of_while": conditional("n", "f", "none")
    + "}"
    + function("f", "d", ["%w#1", "d"], nodes=loop("w", "more", "body"))
    + function("more", "", ["%more i1"], nodes=GOES_ON)
    + function(
        "body",
        "abc",
        ["%held i1", "%down", *PASSED],
        "b",
        nodes=identity("held", "%p", "%add_a", "i1") + DOWN,
    )
    + NONE,
}
REQUESTS = {
    "n:0": ["n:0"],
    "n:1": ["n:1"],
    "behind_0": ["behind_0:0"],
    "behind_1": ["behind_1:0"],
    "both": ["behind_0:0", "behind_1:0"],
    "after": ["after:0"],
    "after_behind_1": ["after_behind_1:0"],
    "other": ["other:0"],
    "target": [],
}


def text_of(program):
    text = "tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {\n"
    for name, kind in ("p", "i1"), ("x", "i32"):
        text += f'%{name}, %t_{name} = Placeholder name("{name}") {{dtype = {kind}, '
        text += f"shape = #tf_type.shape<>}} : () -> (tensor<{kind}>)\n"
    text += constant("zero", 0)
    for v in "abcd":
        text += f"""%{v}, %t_{v} = VarHandleOp name("{v}") {{dtype = i32, shape = #tf_type.shape<>,
            shared_name = "{v}", container = ""}} : () -> ({HANDLE})
          %set_{v} = AssignVariableOp(%{v}, %zero) name("set_{v}")
            {{dtype = i32, validate_shape = false}} : {HANDLE}, tensor<i32>
          %peek_{v}, %t_peek_{v} = ReadVariableOp(%{v}) name("peek_{v}") {{dtype = i32}}
            : ({HANDLE}) -> (tensor<i32>)
"""
    is_loop = PROGRAMS[program].startswith("%n:6")
    text += identity("behind_0", "%n#0", kind="i1" if is_loop else "i32")
    text += identity("behind_1", "%n#1")
    text += identity("after", "%x", "%t_n")
    text += identity("after_behind_1", "%x", "%t_behind_1")
    text += identity("other", "%x")
    return text + PROGRAMS[program]


# The values of a, b, c and d after each request in TensorFlow 2.21, with p true and with p false.
OUTCOMES = {
    "if": [
        "1100 0011",
        "1100 0011",
        "1000 0010",
        "0100 0001",
        "1100 0011",
        "0000 0000",
        "0100 0001",
        "0000 0000",
        "1100 0011",
    ],
    "if_undissolved": [
        "1100 0011",
        "1100 0011",
        "1100 0011",
        "1100 0011",
        "1100 0011",
        "1100 0011",
        "1100 0011",
        "0000 0000",
        "1100 0011",
    ],
    "if_control": [
        "1100 0000",
        "1100 0000",
        "1000 0000",
        "0000 0000",
        "1000 0000",
        "0100 0000",
        "0000 0000",
        "0000 0000",
        "1100 0000",
    ],
    "if_loose": [
        "0100 0010",
        "0100 0010",
        "0000 0000",
        "0000 0010",
        "0000 0010",
        "0100 0000",
        "0000 0010",
        "0000 0000",
        "0100 0010",
    ],
    "case": [
        "0011 0011",
        "0011 0011",
        "0010 0010",
        "0001 0001",
        "0011 0011",
        "0000 0000",
        "0001 0001",
        "0000 0000",
        "0011 0011",
    ],
    "call": [
        "1110 1110",
        "1110 1110",
        "1000 1000",
        "0100 0100",
        "1100 1100",
        "0010 0010",
        "0100 0100",
        "0000 0000",
        "1110 1110",
    ],
    "nested": [
        "1101 0000",
        "1101 0000",
        "1000 0000",
        "0100 0000",
        "1100 0000",
        "0001 0000",
        "0100 0000",
        "0000 0000",
        "1101 0000",
    ],
    "nested_undissolved": [
        "1110 0000",
        "1110 0000",
        "1110 0000",
        "1110 0000",
        "1110 0000",
        "0000 0000",
        "1110 0000",
        "0000 0000",
        "1110 0000",
    ],
    "while": [
        "2200 2200",
        "2200 2200",
        "2200 2200",
        "2200 2200",
        "2200 2200",
        "2200 2200",
        "2200 2200",
        "0000 0000",
        "2200 2200",
    ],
    "while_condition": [
        "3020 3020",
        "3020 3020",
        "3020 3020",
        "3020 3020",
        "3020 3020",
        "3020 3020",
        "3020 3020",
        "0000 0000",
        "3020 3020",
    ],
    "while_once": [
        "1000 0000",
        "1000 0000",
        "0000 0000",
        "1000 0000",
        "1000 0000",
        "1000 0000",
        "1000 0000",
        "0000 0000",
        "1000 0000",
    ],
    "while_of_if": [
        "2000 0000",
        "2000 0000",
        "2000 0000",
        "2000 0000",
        "2000 0000",
        "2000 0000",
        "2000 0000",
        "0000 0000",
        "2000 0000",
    ],
    "if_of_while": [
        "2201 0000",
        "2201 0000",
        "2200 0000",
        "0001 0000",
        "2201 0000",
        "0000 0000",
        "0001 0000",
        "0000 0000",
        "2201 0000",
    ],
}


def open_session(program, tier):
    return treadle.Session(treadle.Graph.from_bytes(text_of(program).encode()), tier=tier)


def variables_after(session, request, p):
    session.run([], {}, targets=[f"set_{v}" for v in "abcd"])
    fetches = REQUESTS[request]
    session.run(fetches, {"p:0": p, "x:0": 2}, targets=[] if fetches else ["n"])
    return "".join(str(value) for value in session.run([f"peek_{v}:0" for v in "abcd"], {}))


@pytest.mark.parametrize("tier", ["interpret", "auto", "jit"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_effects_are_those_that_what_is_asked_for_needs(program, tier):
    session = open_session(program, tier)
    expected = dict(zip(REQUESTS, OUTCOMES[program], strict=True))
    for _ in range(2):
        found = [
            f"{variables_after(session, request, True)} {variables_after(session, request, False)}"
            for request in REQUESTS
        ]
        assert dict(zip(REQUESTS, found, strict=True)) == expected


@pytest.mark.parametrize("program", ["if", "nested", "call"])
def test_a_fed_result_is_used_and_the_node_stays_whole(program):
    session = open_session(program, "auto")
    session.run([], {}, targets=[f"set_{v}" for v in "abcd"])
    feeds = {"p:0": True, "x:0": 2, "n:0": np.int32(50)}
    assert session.run(["behind_0:0"], feeds)[0] == 50
    assert session.run(["peek_a:0"], {})[0] == 0
    assert session.run(["behind_0:0", "behind_1:0"], feeds) == [50, 2]
    assert session.run(["peek_a:0"], {})[0] == 1
