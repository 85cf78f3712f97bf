"""Graphs of PyTorch: each file of torch_checks/ in a Python that has PyTorch.

That is the one that TREADLE_TORCH_PYTHON names (with scripts/requirements-torch.txt installed), or
this one. Without it they are skipped.
"""

import os
import pathlib
import subprocess
import sys

import pytest

import treadle

PYTHON = os.environ.get("TREADLE_TORCH_PYTHON") or sys.executable
CHECKS = sorted((pathlib.Path(__file__).parent / "torch_checks").glob("check_*.py"))
PACKAGES = pathlib.Path(treadle.__file__).parent.parent


def has_torch():
    found = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"
    return subprocess.run([PYTHON, "-c", found]).returncode == 0


@pytest.mark.parametrize("file", CHECKS, ids=lambda file: file.stem)
def test_checks_pass(file):
    if not has_torch():
        pytest.skip(f"{PYTHON} has no PyTorch: TREADLE_TORCH_PYTHON may name one that has")
    done = subprocess.run(
        [PYTHON, "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider", str(file)],
        env={**os.environ, "PYTHONPATH": str(PACKAGES)},
        capture_output=True,
        text=True,
        timeout=1500,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


def test_treadle_is_imported_without_torch():
    program = "import sys, treadle; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


def test_without_torch_from_fx_says_what_is_missing():
    if has_torch() and PYTHON == sys.executable:
        pytest.skip("this Python has PyTorch")
    with pytest.raises(ModuleNotFoundError, match="torch"):
        treadle.from_fx(None, [])
