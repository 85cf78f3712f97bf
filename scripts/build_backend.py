"""Builds a wheel of this checkout for pip (PEP 517), by `./dev wheel` for pip's Python."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    with tempfile.TemporaryDirectory() as folder:
        command = [ROOT / "dev", "wheel", "--plain", "--out", folder, sys.executable]
        # pip sets variables for its own child processes, which would confuse another Python.
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        subprocess.run(command, check=True, env=environment)
        (wheel,) = pathlib.Path(folder).glob("*.whl")
        shutil.copy(wheel, wheel_directory)
        return wheel.name


def build_sdist(sdist_directory, config_settings=None):
    raise NotImplementedError("treadle is built from a checkout: ./dev wheel")
