"""Datasets and iterators inside functions, against what TensorFlow gives."""

from pathlib import Path

import numpy as np
import pytest

import treadle


@pytest.fixture(scope="module")
def functions():
    return treadle.load(Path(__file__).parent / "models" / "datasets").functions


def test_functions_of_datasets_see_variables(functions):
    assert functions["total"]([0, 1, 2, 3, 4]) == 20
    assert functions["total"]([]) == 0


def test_datasets_of_others(functions):
    result = functions["shapes"](7)
    assert result["windows"].tolist() == [3, 9, 15, 6]
    assert result["padded"].tolist() == [[4, 3], [3, 6]]
    mixed = [0, 0, 1, 0, 1, 2, 0, 1, 2, 3, 0, 1, 2, 3, 4, 0, 1, 4, 5, 2, 3]
    assert sorted(result["mixed"].tolist()) == sorted(mixed)
    assert result["mixed"].tolist()[:4] == [0, 0, 1, 0]
    assert result["cardinality"] == 9


def test_a_loop_over_a_dataset_ends_early(functions):
    assert functions["until"]([3, 1, 2, -1, 9]) == 5


def test_iterators_go_on_where_they_were(functions):
    first, rest = functions["by_iterator"]([1, 2, 0, 3, 4])
    assert (first, rest) == (2, 7)
    with pytest.raises(treadle.OutOfRangeError, match="at the end"):
        functions["by_iterator"](np.zeros(0, np.float32))


def test_datasets_that_dont_fit(functions):
    assert functions["only"]([5]) == 5
    with pytest.raises(treadle.InvalidArgumentError, match="more than one element"):
        functions["only"]([5, 6])
    with pytest.raises(treadle.InvalidArgumentError, match="is empty"):
        functions["only"](np.zeros(0, np.float32))


def test_a_dataset_without_a_kernel_is_named(functions):
    with pytest.raises(treadle.UnimplementedError, match="Shuffle"):
        functions["shuffled"](3)
