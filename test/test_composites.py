"""Ragged and sparse tensors as arguments and results of signatures and functions."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

import treadle
from treadle import RaggedTensor, SparseTensor

BINARY = os.environ.get("TREADLE_BIN") or Path(treadle.__file__).parents[2] / "bin" / "treadle"
COMPOSITES = Path(__file__).parent / "models" / "composites"
CELLS = SparseTensor([[0, 1], [1, 0]], np.array([5, 6], np.float32), [2, 2])


@pytest.fixture(scope="module")
def model():
    return treadle.load(COMPOSITES)


def run(*args, status=0):
    done = subprocess.run([BINARY, *map(str, args)], capture_output=True, text=True, timeout=60)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_a_ragged_result_is_one(model):
    result = model.signatures["split"](text=["a b", "", "cc"])
    assert list(result) == ["bytes", "count", "words"]
    assert isinstance(result["words"], RaggedTensor)
    assert result["words"].to_list() == [[b"a", b"b"], [], [b"cc"]]
    assert result["count"].tolist() == [2, 0, 1] and result["bytes"].to_list() == [[1, 1], [], [2]]
    assert list(model.signatures["split"].outputs)[-2:] == ["words.values", "words.row_splits"]


def test_a_signature_takes_components_by_the_names_of_tensorflow(model):
    deep = model.signatures["deep"]
    ragged = RaggedTensor(RaggedTensor(np.arange(4, dtype=np.int32), [0, 1, 3, 4]), [0, 2, 3])
    by_parts = deep(x=np.arange(4, dtype=np.int32), x_1=[0, 2, 3], x_2=[0, 1, 3, 4])
    for result in (deep(x=ragged), by_parts):
        assert result["y"].to_list() == [[[1], [2, 3]], [[4]]] and result["sum"] == 6
    sparse = model.signatures["doubled"](x=SparseTensor([[0, 1]], [3.0], [2, 3]))
    assert isinstance(sparse["sparse"], SparseTensor)
    np.testing.assert_array_equal(sparse["sparse"].to_dense(), sparse["dense"])


@pytest.mark.parametrize(
    "rows",
    [
        [[1, 2], [], [3]],
        RaggedTensor(np.array([1, 2, 3], np.float32), [0, 2, 2, 3]),
        {"values": [1, 2, 3], "row_splits": [0, 2, 2, 3]},
    ],
)
def test_functions_nest_them(model, rows):
    twice, rest = model.functions["nested"]({"rows": rows, "cells": CELLS})
    assert twice.to_list() == [[2, 4], [], [6]]
    cells, lengths = rest["both"]
    np.testing.assert_array_equal(cells.to_dense(), [[0, 5], [6, 0]])
    assert lengths.tolist() == [2, 0, 1]


def test_indexed_slices(model):
    slices = {"values": [[1, 2]], "indices": [3]}
    values, indices = model.functions["rows"](slices)
    assert values.tolist() == [[1, 2]] and indices.tolist() == [3]


def test_what_is_no_ragged_tensor(model):
    with pytest.raises(TypeError, match="'values_rows'.*values, row_splits"):
        model.functions["nested"]({"rows": 1, "cells": CELLS})
    with pytest.raises(TypeError, match="indices, values, dense_shape"):
        model.functions["nested"]({"rows": [[1]], "cells": {"values": [1]}})


def test_the_command_line_has_components(tmp_path):
    shown = run("show", COMPOSITES)
    assert "-> words.row_splits: int64[?] of ragged words" in shown
    assert "-> sparse.dense_shape: int64[2] of sparse sparse" in shown
    out = run("run", COMPOSITES, "--signature", "split", "--input", "text=[a b,c]")
    assert "words.values: string[3] = [b'a' b'b' b'c']\nwords.row_splits: int64[3] = [0 2 3]" in out
    inputs = ["--input", "x.values=[1,2]", "--input", "x.row_splits_0=[0,1]"]
    inputs += ["--input", "x.row_splits_1=[0,2]"]
    assert "sum: int32[] = 3" in run("run", COMPOSITES, "--function", "deep", *inputs)
    arrays = {"in/text": np.array([b"a b", b"c"]), "out/words.splits": np.array([0, 2, 3])}
    np.savez(tmp_path / "io.npz", **arrays)
    out = run("run", COMPOSITES, "--signature", "split", "--check", tmp_path / "io.npz")
    assert "words.row_splits: int64[3] equal" in out
