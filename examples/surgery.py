"""Finds missing and wrong edges of a SavedModel, fixes them, and writes the model to a folder.

python examples/surgery.py mended
"""

import sys
import tempfile
from pathlib import Path

import treadle

WORDS = Path(__file__).parent / "words"


def damage(folder):
    """Writes a model with a race on its counter, and with a missing scale."""
    graph = treadle.Graph.from_file(WORDS)
    graph["calls_now"].inputs.remove("^count")
    graph["y"].inputs = ["x", "x", "^count"]
    graph.to_file(folder)


def call(folder):
    return treadle.load(folder).signatures["serving_default"](x=[1, 2, 3])


def mend(graph):
    for problem in graph.check():
        print(problem.kind, problem.message)
        if problem.kind == "race":
            earlier, later = problem.nodes
            graph.preserve_order({later: [earlier]})
    print("y is computed from", graph["y"].inputs)
    graph["y"].inputs = ["x", "scale_now"]


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: python surgery.py FOLDER")
    with tempfile.TemporaryDirectory() as broken:
        damage(broken)
        print(call(broken)["scaled"])
        graph = treadle.Graph.from_file(broken)
        mend(graph)
        print("problems left:", len(graph.check()))
        graph.to_file(sys.argv[1] + "/")
    print(call(sys.argv[1]))


try:
    main()
except treadle.Error as error:
    sys.exit(str(error))
