"""Settings of all tests: they compile what they test, and leave no files of code behind."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

os.environ.setdefault("TREADLE_CACHE_DIR", "")
BUILD = Path(__file__).parent.parent / "build" / "release"


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    """A folder that `cmake --install` was told, and that was moved then."""
    if shutil.which("pkg-config") is None:
        pytest.skip("needs pkg-config, which isn't here")
    first = tmp_path_factory.mktemp("install") / "first"
    command = ["cmake", "--install", BUILD, "--prefix", first, "--strip"]
    subprocess.run(command, check=True, capture_output=True)
    moved = first.with_name("moved")
    first.rename(moved)
    return moved


@pytest.fixture(scope="session")
def installed_environment(installed):
    """Returns the environment in which pkg-config and programs find the installed library."""
    (pc,) = installed.rglob("treadle.pc")
    return os.environ | {
        "PKG_CONFIG_PATH": str(pc.parent),
        "LD_LIBRARY_PATH": str(pc.parent.parent),
    }
