"""The pages on PyTorch are true: their programs print the shown output."""

import pathlib
import re
import subprocess
import sys

import pytest

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
PROGRAM = re.compile(r"^```python torch\n(.*?)^```\n\n```output\n(.*?)^```$", re.M | re.S)


@pytest.mark.parametrize(("page", "programs"), [("from-torch.md", 3), ("overlap.md", 2)])
def test_programs_print_what_the_page_says(page, programs, tmp_path):
    found = PROGRAM.findall((DOCS / page).read_text())
    assert len(found) >= programs
    for program, output in found:
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True
        )
        assert (done.returncode, done.stdout) == (0, output), program + done.stderr
