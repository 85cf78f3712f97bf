"""Source locations of nodes: kept by every format and pass, and shown in errors."""

import pytest

import treadle

NODES = """
node { name: "a" op: "Placeholder" attr { key: "dtype" value { type: DT_INT32 } } }
node { name: "zero" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
       attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape {} int_val: 0 } } } }
node { name: "div" op: "FloorDiv" input: "a" input: "zero"
       attr { key: "T" value { type: DT_INT32 } } }
node { name: "call" op: "PartitionedCall" input: "a"
       attr { key: "Tin" value { list { type: DT_INT32 } } }
       attr { key: "Tout" value { list { type: DT_INT32 } } }
       attr { key: "f" value { func { name: "halve" } } } }
library { function {
  signature { name: "halve" input_arg { name: "x" type: DT_INT32 }
              output_arg { name: "y" type: DT_INT32 } }
  node_def { name: "nothing" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
       attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape {} int_val: 0 } } } }
  node_def { name: "inner" op: "FloorMod" input: "x" input: "nothing:output:0"
             attr { key: "T" value { type: DT_INT32 } } }
  ret { key: "y" value: "inner:z:0" } } }
"""

# The outermost frame is first; the innermost one is TensorFlow's own.
TRACES = """
debug_info {
  files: "/home/me/model.py" files: "/lib/tensorflow/python/ops.py"
  traces { key: "div@" value {
    file_line_cols { file_index: 0 line: 90 func: "main" }
    file_line_cols { file_index: 0 line: 31 func: "divide" }
    file_line_cols { file_index: 1 line: 7 } } }
  traces { key: "inner@halve" value { file_line_cols { file_index: 0 line: 12 } } }
}
"""

NUMBERED = """
debug_info {
  files: "/home/me/model.py" files: "/lib/tensorflow/python/ops.py"
  frames_by_id { key: 1 value { file_index: 0 line: 90 func: "main" } }
  frames_by_id { key: 2 value { file_index: 0 line: 31 func: "divide" } }
  frames_by_id { key: 3 value { file_index: 1 line: 7 } }
  frames_by_id { key: 4 value { file_index: 0 line: 12 } }
  traces_by_id { key: 18446744073709551615 value { frame_id: 1 frame_id: 2 frame_id: 3 } }
  traces_by_id { key: 0 value { frame_id: 4 } }
  name_to_trace_id { key: "div@" value: 18446744073709551615 }
  name_to_trace_id { key: "inner@halve" value: 0 }
}
"""


@pytest.fixture(params=[TRACES, NUMBERED], ids=["traces", "numbered"])
def graph(request):
    return treadle.Graph.from_bytes((NODES + request.param).encode())


def error_of(graph, fetch="div"):
    with pytest.raises(treadle.InvalidArgumentError) as caught:
        treadle.Session(graph).run(fetch, {"a:0": 6})
    return caught.value.message


def test_errors_name_the_users_line(graph):
    message = error_of(graph)
    assert message.startswith("node 'div' (FloorDiv): ")
    assert message.endswith(" (defined at /home/me/model.py:31)")


def test_errors_in_functions_too(graph):
    message = error_of(graph, "call")
    assert message.startswith("node 'inner' (FloorMod): ")
    assert message.endswith(" (defined at /home/me/model.py:12)")


def test_without_debug_info_nothing_is_said():
    assert "defined" not in error_of(treadle.Graph.from_bytes(NODES.encode()))


@pytest.mark.parametrize("name", ["graph.pb", "graph.pbtxt", "graph.mlir"])
def test_every_format_keeps_it(graph, name, tmp_path):
    graph.to_file(tmp_path / name)
    again = treadle.Graph.from_file(tmp_path / name)
    assert error_of(again) == error_of(graph)
    assert again.to_bytes() == graph.to_bytes()


def test_text_shows_the_stack(graph):
    text = graph.text()
    assert '"/home/me/model.py":31:0' in text
    assert 'loc("divide"(' in text
    assert "callsite(" in text


def test_passes_keep_it(graph):
    assert error_of(graph.run_passes("tfg-toposort,tfg-cse")) == error_of(graph)


def test_tf_executor_keeps_it(graph):
    there = graph.run_passes("tfg-to-tf-executor")
    assert "model.py" in there.text()
    back = there.run_passes("tf-executor-to-tfg")
    assert error_of(back) == error_of(graph)
    assert back.to_bytes() == graph.to_bytes()


def test_a_node_with_another_name_keeps_its_stack(graph):
    graph.node("div").name = "quotient"
    message = error_of(treadle.Graph.from_bytes(graph.to_bytes()), "quotient")
    assert message.endswith(" (defined at /home/me/model.py:31)")


def test_inlined_nodes_keep_their_stacks(graph):
    inlined = graph.run_passes("tfg-inline")
    for again in (inlined, treadle.Graph.from_bytes(inlined.to_bytes())):
        message = error_of(again, "call")
        assert message.startswith("node 'call/inner' (FloorMod): ")
        assert message.endswith(" (defined at /home/me/model.py:12)")


def test_nodes_made_from_others_have_their_stacks(graph):
    text = NODES.replace(
        'node { name: "div"',
        'node { name: "made" experimental_debug_info { original_node_names: "div" }',
    )
    made = treadle.Graph.from_bytes((text + TRACES).encode())
    assert error_of(made, "made").endswith(" (defined at /home/me/model.py:31)")


def test_check_names_the_line():
    text = NODES.replace(
        'node { name: "div" op: "FloorDiv" input: "a" input: "zero"\n',
        'node { name: "div" op: "FloorDiv" input: "a" input: "zero" '
        'attr { key: "U" value { i: 1 } } \n',
    )
    problems = treadle.Graph.from_bytes((text + TRACES).encode()).check()
    assert any("defined at /home/me/model.py:31" in problem.message for problem in problems)


def test_damaged_debug_info_is_ignored():
    damaged = """
    debug_info { files: "m.py"
      traces { key: "div@" value { file_line_cols { file_index: 5 line: 1 }
                                   file_line_cols { file_index: -1 line: 1 } } }
      name_to_trace_id { key: "inner@halve" value: 77 } }
    """
    graph = treadle.Graph.from_bytes((NODES + damaged).encode())
    assert "defined" not in error_of(graph)
    assert "defined" not in error_of(graph, "call")
