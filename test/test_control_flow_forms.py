"""Graphs of the corpus give the same values in other forms of control flow, where it is at hand.

One case in twenty runs; TREADLE_ALL_FORMS=1 runs all of them.
"""

import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import control_flow_forms as forms  # noqa: E402

EVERY = 1 if os.environ.get("TREADLE_ALL_FORMS") else 20
# The share of all loops and conditionals that may stay; in a small sample, those with references to
# variables may be more frequent.
SHARE_TO_STAY = 0.05 if EVERY == 1 else 0.15


def convert(passes, version):
    if not forms.CORPUS.exists():
        pytest.skip(f"there is no {forms.CORPUS}")
    cases = forms.select(EVERY, "", version)
    before = forms.run(cases, "none")
    return [(a, b) for a, b in zip(before, forms.run(cases, passes), strict=True) if not a["why"]]


def total(results, what, index):
    return sum(result[what][index] for _, result in results)


def test_v1_control_flow_becomes_functional():
    results = convert("functional", "cf_v1")
    assert not [after for _, after in results if after["why"]]
    for index in (0, 1):  # loops, and the Merge nodes of conditionals
        assert total(results, "after", index) <= SHARE_TO_STAY * total(results, "before", index)


def test_v1_loops_become_loops_with_regions():
    results = convert("regions", "cf_v1")
    assert not [after for _, after in results if after["why"]]
    # Those in which a node may wait for others stay as well.
    assert total(results, "after", 0) <= 0.15 * total(results, "before", 0)


@pytest.mark.parametrize("version", ["cf_v1", "cf_v2"])
def test_functional_control_flow_becomes_v1(version):
    passes = "v1" if version == "cf_v2" else "functional-v1"
    assert not [after for _, after in convert(passes, version) if after["why"]]


@pytest.mark.parametrize("version", ["cf_v1", "cf_v2"])
def test_functional_control_flow_comes_back_equal(version):
    results = convert("there-and-back", version)
    assert not [after for _, after in results if after["why"] or after["differences"]]
