"""`python -m treadle ARGS` is the command `treadle ARGS`, of this very package."""

import os
import shutil
import sys
from pathlib import Path


def _command() -> str:
    """In a wheel below the package; in a build beside it; else what is installed."""
    package = Path(__file__).resolve().parent
    for folder in (package, package.parents[1]):
        if (folder / "bin" / "treadle").is_file():
            return str(folder / "bin" / "treadle")
    installed = shutil.which("treadle")
    if not installed:
        sys.exit(f"treadle: the command 'treadle' is neither beside {package} nor on PATH")
    return installed


if __name__ == "__main__":
    command = _command()
    os.execv(command, [command, *sys.argv[1:]])
