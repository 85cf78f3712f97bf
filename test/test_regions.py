"""Conditionals and loops with regions: graphs of the corpus there and back, and as they run.

The corpus lies outside this repository: TREADLE_SHARED, or ../shared, holds it. Run as a program,
this counts what converts over all of it.
"""

import collections
import importlib.util
import pathlib
import re
import subprocess
import sys

import numpy
import pytest

import treadle

SPEC = importlib.util.spec_from_file_location(
    "passes_on_corpus", pathlib.Path(__file__).with_name("passes_on_corpus.py")
)
harness = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(harness)

BINARY = pathlib.Path(treadle.__file__).parents[2] / "bin" / "treadle"
FORMS = "If|StatelessIf|Case|StatelessCase|While|StatelessWhile|For"

MODEL = """
tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
  %x, %cx = Placeholder name("x") {dtype = f32, shape = #tf_type.shape<>} : () -> (tensor<f32>)
  %k, %ck = Const name("k") {dtype = f32, value = dense<8.0> : tensor<f32>} : () -> (tensor<f32>)
  %n, %cn = Const name("n") {dtype = i32, value = dense<3> : tensor<i32>} : () -> (tensor<i32>)
  %i, %ci = Const name("i") {dtype = i32, value = dense<0> : tensor<i32>} : () -> (tensor<i32>)
  %o, %co = Const name("o") {dtype = i32, value = dense<1> : tensor<i32>} : () -> (tensor<i32>)
  %w, %cw = WhileRegion(%x) {
  ^bb0(%v: tensor<f32>, %vc: !tf_type.control):
    %less, %cl = Less(%v, %k) name("less") {T = f32} : (tensor<f32>, tensor<f32>) -> (tensor<i1>)
    condition %less : tensor<i1> (%v) : tensor<f32>
  } do {
  ^bb0(%v: tensor<f32>, %vc: !tf_type.control):
    %f, %cf = ForRegion(%v) from %i to %n by %o {
    ^bb0(%j: tensor<i32>, %u: tensor<f32>, %jc: !tf_type.control, %uc: !tf_type.control):
      %a, %ca = AddV2(%u, %u) [%vc] name("a") {T = f32}
          : (tensor<f32>, tensor<f32>) -> (tensor<f32>)
      yield(%a) : tensor<f32>
    } {_mlir_name = "f"} : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<f32>) -> (tensor<f32>)
    yield(%f) [%vc] : tensor<f32>
  } {_mlir_name = "w", parallel_iterations = 10 : i64} : (tensor<f32>) -> tensor<f32>
  %p, %cp = Less(%k, %w) name("p") {T = f32} : (tensor<f32>, tensor<f32>) -> (tensor<i1>)
  %y, %cy = StatefulIfRegion %p then {
    %m, %cm = Neg(%w) name("m") {T = f32} : (tensor<f32>) -> (tensor<f32>)
    yield(%m) : tensor<f32>
  } else {
    %c, %cc = StatelessCaseRegion %n {
      yield(%k) : tensor<f32>
    }, {
      %m, %cm = Neg(%k) name("m") {T = f32} : (tensor<f32>) -> (tensor<f32>)
      yield(%m) : tensor<f32>
    } {_mlir_name = "c"} : (tensor<i32>) -> tensor<f32>
    yield(%c) : tensor<f32>
  } {_mlir_name = "y"} : (tensor<i1>) -> tensor<f32>
}
"""


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "regions.mlir"
    path.write_text(MODEL)
    return path


@pytest.mark.parametrize("x, y", [(1, -8), (2, -16), (8, -8), (9, -9)])
def test_regions_run(model, x, y):
    (got,) = treadle.Session(treadle.Graph.from_file(model)).run(["y:0"], {"x:0": numpy.float32(x)})
    assert got == y


def tool(*arguments):
    done = subprocess.run([BINARY, *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_tools_take_regions(model, tmp_path):
    assert tool("run", model, "--fetch", "y:0", "--input", "x=2") == "y:0: float32[] = -16.0\n"
    for name in ("out.pb", "out.pbtxt"):
        tool("convert", model, tmp_path / name)
        shown = tool("run", tmp_path / name, "--fetch", "y:0", "--input", "x=2")
        assert shown == "y:0: float32[] = -16.0\n"
    # Text keeps the regions.
    tool("convert", model, tmp_path / "out.mlir")
    assert "ForRegion" in (tmp_path / "out.mlir").read_text()
    tool("check", model)


def test_show_lists_what_has_regions(model):
    shown = tool("show", model)
    assert "  w (WhileRegion), parallel_iterations 10\n" in shown
    assert "  f (ForRegion)" in shown
    assert "conditionals\n  y (StatefulIfRegion)\n  c (StatelessCaseRegion)\n" in shown
    assert "14 nodes" in shown


def test_what_has_no_functional_form_is_unimplemented():
    end = "(%v) : tensor<f32>\n  } do"
    graph = treadle.Graph.from_bytes(MODEL.replace(end, end.replace("%v", "%k")).encode())
    with pytest.raises(treadle.UnimplementedError, match="node 'w' .* its condition forwards"):
        treadle.Session(graph)
    with pytest.raises(treadle.UnimplementedError, match="node 'w'"):
        graph.to_bytes()


def there_and_back(data):
    """Counts of functional ops and of those that got regions; and whether the graph is the same."""
    graph = treadle.Graph.from_bytes(data)
    regions = graph.run_passes("tfg-functional-to-region")
    back = regions.run_passes("tfg-region-to-functional")
    before, between = graph.text(), regions.text()
    counts = collections.Counter(re.findall(rf"= ({FORMS})\(", before))
    kept = collections.Counter(re.findall(rf"= ({FORMS})\(", between))
    return counts, kept, back.to_bytes() == graph.to_bytes() or (before, back.text())


def cases_there_and_back(cases):
    replay = harness.load_replay()
    archives = collections.defaultdict(list)
    for case in cases:
        archive, _, name = case.partition("/")
        archives[archive].append(name)
    for archive, names in archives.items():
        files = replay.read(harness.CORPUS / "cases" / f"{archive}.tar.xz", None)
        for name in names:
            yield f"{archive}/{name}", there_and_back(files[name]["graph.pb"])


def test_graphs_come_back_as_they_were():
    if not harness.CORPUS.is_dir():
        pytest.skip(f"there is no {harness.CORPUS}")
    cases = harness.chosen_cases(flags=["cf_v2"], sample=60)
    results = list(cases_there_and_back(cases))
    assert not [name for name, (_, _, is_same) in results if is_same is not True]
    counts, kept = (sum((r[i] for _, r in results), collections.Counter()) for i in (0, 1))
    # The corpus has such ops, and regions for nearly all of them.
    assert counts.total() > len(cases) / 2
    assert kept.total() < 0.05 * counts.total()


if __name__ == "__main__":
    counts, kept, same, different = collections.Counter(), collections.Counter(), 0, []
    for name, (found, stayed, is_same) in cases_there_and_back(
        harness.chosen_cases(flags=sys.argv[1:] or ["cf_v2"])
    ):
        counts, kept = counts + found, kept + stayed
        same += is_same is True
        if is_same is not True:
            different.append(name)
    print(f"{same} graphs come back as they were, {len(different)} differ:", *different)
    for op in counts:
        print(f"  {op}: {counts[op]}, {kept[op]} of them stay functional")
