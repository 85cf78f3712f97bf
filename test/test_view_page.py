"""The page of `treadle view` by itself: its types, and the tests beside its sources."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from command_line import BINARIES  # noqa: E402

# The folder with the build's copy of the sources, and their npm packages.
PAGE = BINARIES.parent / "treadle" / "view" / "page"


@pytest.mark.parametrize("script", ["check", "test"])
def test_the_page(script):
    path = os.pathsep.join([str(pathlib.Path(sys.executable).parent), os.environ["PATH"]])
    npm = shutil.which("npm", path=path)
    if not npm or not (PAGE / "node_modules").is_dir():
        pytest.skip("no build of the page is here")
    done = subprocess.run(
        [npm, "run", "--silent", script],
        cwd=PAGE,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
