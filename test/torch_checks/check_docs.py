"""What docs/from-torch.md shows is true: its programs print what is said there."""

import pathlib
import re
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "from-torch.md"
PROGRAM = re.compile(r"^```python torch\n(.*?)^```\n\n```output\n(.*?)^```$", re.M | re.S)


def test_programs_print_what_the_page_says(tmp_path):
    found = PROGRAM.findall(PAGE.read_text())
    assert len(found) >= 3
    for program, output in found:
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True
        )
        assert (done.returncode, done.stdout) == (0, output), program + done.stderr
