"""Reads and writes back GraphDefs: equal as messages. Our own lie in graphs/.

Those that TensorFlow made are tried where they are at hand, outside this repository:
TREADLE_SHARED, or ../shared, holds corpus/ and graphdefs/.
"""

import os
import pathlib
import subprocess
import tarfile

import pytest

ROOT = pathlib.Path(__file__).parents[1]
SHARED = pathlib.Path(os.environ.get("TREADLE_SHARED", ROOT.parent / "shared"))
PROGRAM = ROOT / "build" / "release" / "bin" / "graphdef_roundtrip"

# Texts that the only error of each malformed graph must contain.
MALFORMED = {
    "invalid_arg_name": ["function 'DuplicatedName'", "node 'x'", "used by an argument"],
    "invalid_backedge_input_size": ["function '\u4d34'", "a node (Const)", "empty name"],
    "invalid_duplicated_node_name": ["function 'DuplicatedName'", "node 'y'", "used by another"],
    "invalid_edge_index": ["node 'merge' (Merge)", "input 0", "'const1'", "expected f64"],
    "invalid_empty_attr_key": ["node 'SaveV/'", "an attribute has an empty name"],
    "invalid_empty_func_attr_key": ["node 'SaveV/'", "'T'", "an attribute has an empty name"],
    "invalid_empty_func_attr_name": ["node 'NoOp'", "'dense_shapes'", "empty name"],
    "invalid_generic_func_with_empty_control_result": ["function 'foo'", "'output'", "empty value"],
    "invalid_generic_func_with_empty_name": ["function of the library", "empty name"],
    "invalid_generic_func_with_empty_result": ["function 'foo'", "result 0", "name a node"],
    "invalid_generic_function_named_edge_index": ["node 'a' (Cast)", "output 18446744073709551615"],
    "invalid_handle_data": ["function 'XTimesTwo'", "handle data of 'y'", "dtype 0"],
    "invalid_missing_control_input": ["Merge_const' (Const)", "no node 'case/cond/cond/Merge'"],
    "invalid_missing_control_result_value": ["function 'test'", "no node 'missing'"],
    "invalid_missing_data_result": ["function 'test'", "result 'missing'", "'ret'"],
    "invalid_missing_data_result_value": ["function 'test'", "no node 'missing'"],
    "invalid_missing_input": [
        "'case/cond/cond/Merge' (Merge)",
        "no node 'case/cond/cond/Switch_3'",
    ],
    "invalid_missing_two_inputs": ["node 'Merge'", "input 0", "no node 'invalid_1'"],
    "invalid_named_edge_index": ["node 'merge' (Merge)", "input 0", "'const1'", "expected f64"],
    "invalid_type_list": ["node 'SaveV/'", "'Tin'", "expected list(type)"],
}


def needed(folder):
    path = SHARED / folder
    if not path.exists():
        pytest.skip(f"there is no {path}")
    return path


def round_trip(*arguments):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True)
    assert done.stdout, f"exit {done.returncode}: {done.stderr}"
    *problems, summary = done.stdout.splitlines()
    return problems, int(summary.split()[0])


def test_corpus(tmp_path):
    archives = sorted(needed("corpus/cases").glob("*.tar.xz"))
    expected = 0
    for archive in archives:
        folder = tmp_path / archive.name.removesuffix(".tar.xz")
        with tarfile.open(archive) as tar:
            for member in tar:
                if member.name.endswith("/graph.pb"):
                    graph = folder / member.name
                    graph.parent.mkdir(parents=True)
                    graph.write_bytes(tar.extractfile(member).read())
                    expected += 1
    problems, number = round_trip("--verify", "--text", tmp_path)
    assert not problems, "\n".join(problems[:40])
    assert number == expected > 0


def test_graphs_of_our_own():
    graphs = sorted((ROOT / "test" / "graphs").glob("*.pbtxt"))
    problems, number = round_trip("--verify", "--text", *graphs)
    assert not problems, "\n".join(problems)
    assert number == len(graphs) > 0


def test_valid_graphs_in_text_form():
    root = needed("graphdefs")
    valid = [path for path in root.rglob("*.pbtxt") if path.stem not in MALFORMED]
    problems, number = round_trip("--verify", "--text", *valid)
    assert not problems, "\n".join(problems)
    assert number == len(valid) > 0


def test_every_malformed_graph_has_its_error():
    found = {path.stem for path in needed("graphdefs").rglob("invalid_*.pbtxt")}
    assert found == set(MALFORMED)


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_graph_is_one_error(name):
    path = needed("graphdefs") / "graphdef_to_mlir" / f"{name}.pbtxt"
    problems, number = round_trip(path)
    assert number == len(problems) == 1
    for word in ["import: ", *MALFORMED[name]]:
        assert word in problems[0]
