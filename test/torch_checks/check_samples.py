"""The report of './dev conformance torch' for a few ops."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[1] / "conformance" / "torch_ops.py"


def test_samples_of_each_kind_are_counted():
    words = ("masked_select", "geqrf", "randn_like")
    only = [part for word in words for part in ("--only", word)]
    command = [sys.executable, SCRIPT, "--jobs", "1", *only, "--samples", "1", "--ops"]
    command += ["--dtypes", "float32"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    lines = done.stdout.splitlines()
    assert done.returncode == 1, done.stderr
    assert lines[0].startswith("unimplemented: geqrf float32 0: node 'geqrf' (aten.geqrf.default)")
    assert "masked_select: 1 passed, 0 unimplemented, 0 wrong, 0 failed, 0 left out" in lines
    assert lines[-2:] == [
        "ops: 2 of 3",
        "samples: 2 passed, 1 unimplemented, 0 wrong, 0 failed, 0 left out",
    ]
