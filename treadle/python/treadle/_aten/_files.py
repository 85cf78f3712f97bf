"""Files that hold a program of PyTorch: `.pt2`, as torch.export.save writes it, and `.tfg`."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator

from .._errors import Error, InvalidArgumentError, UnavailableError
from . import _archive
from ._importer import FileOrigin
from ._model import model_of

Path = str | os.PathLike[str]


def require_name(path: Path) -> None:
    """Raises InvalidArgumentError unless the name of a file is valid for a written model."""
    if not os.fspath(path).endswith(".tfg"):
        raise InvalidArgumentError(
            f"'{os.fspath(path)}' is not a model file name; expected a name that ends in .tfg"
        )


def write(path: Path, content: bytes) -> None:
    """Writes a file atomically: to a temporary file in the same folder, which is then renamed."""
    partial = f"{os.fspath(path)}.{os.urandom(4).hex()}.tmp"
    try:
        with open(partial, "xb") as file:
            file.write(content)
        os.replace(partial, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(partial)
        raise UnavailableError(f"'{os.fspath(path)}' can't be written: {error.strerror}") from error


def is_program(path: Path) -> bool:
    """Whether a file is an exported program, judged by its name and its first bytes."""
    if not os.fspath(path).endswith(".pt2") or not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(2) == b"PK"


def convert(path: Path, to: Path) -> None:
    """Writes the model of an exported program, without PyTorch."""
    require_name(to)
    write(to, model(path))


def model(path: Path) -> bytes:
    exported, name = _archive.read(path), os.fspath(path)
    try:
        return model_of(
            exported.graph, FileOrigin(), exported.outputs, conditions=exported.conditions
        )
    except Error as error:
        raise type(error)(f"{name}: {error.message}", node=error.node) from error
    except RecursionError:
        raise InvalidArgumentError(f"{name}: its graphs nest too deeply") from None


@contextlib.contextmanager
def as_model(path: Path) -> Iterator[str]:
    """Yields a temporary file with the model of an exported program, and with the same name."""
    with tempfile.TemporaryDirectory(prefix="treadle-") as folder:
        file = os.path.join(folder, os.path.basename(path))
        write(file, model(path))
        yield file
