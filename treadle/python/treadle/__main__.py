"""`python -m treadle ARGS` runs the command `treadle ARGS` of this package.

It also accepts exported programs of PyTorch (.pt2) as models.
"""

import contextlib
import os
import shutil
import subprocess
import sys
from pathlib import Path


def _command() -> str:
    """Returns the command's path: below the package in a wheel, beside it in a build, or the
    installed one."""
    package = Path(__file__).resolve().parent
    for folder in (package, package.parents[1]):
        if (folder / "bin" / "treadle").is_file():
            return str(folder / "bin" / "treadle")
    installed = shutil.which("treadle")
    if not installed:
        sys.exit(f"treadle: the command 'treadle' is neither beside {package} nor on PATH")
    return installed


def _run(command: str, args: list[str]) -> int:
    """Runs the command after converting PyTorch programs among the arguments to models."""
    from treadle._aten import _files

    if args[0] == "convert" and len(args) == 3 and args[2].endswith(".tfg"):
        _files.convert(args[1], args[2])
        return 0
    with contextlib.ExitStack() as stack:
        given = [
            stack.enter_context(_files.as_model(a)) if _files.is_program(a) else a for a in args
        ]
        status = subprocess.run([command, *given]).returncode
    return status if status >= 0 else 128 - status


def main() -> None:
    """Runs the command line; doesn't return."""
    command, args = _command(), sys.argv[1:]
    if not any(a.endswith(".pt2") for a in args):
        os.execv(command, [command, *args])
    from treadle import Error

    try:
        sys.exit(_run(command, args))
    except Error as error:
        sys.exit(f"treadle: {type(error).__name__}: {error.message}")
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
