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
    """InvalidArgumentError unless a file is called as those are that models are written to."""
    if not os.fspath(path).endswith(".tfg"):
        raise InvalidArgumentError(
            f"'{os.fspath(path)}' is not a model file name; expected a name that ends in .tfg"
        )


def write(path: Path, content: bytes) -> None:
    """A file is written beside its place, and moved there: readers see the old one or the new."""
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
    """Whether a file is an exported program, by its name and by how it begins."""
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
    """A file with the model of an exported program, of the same name, as long as it is needed."""
    with tempfile.TemporaryDirectory(prefix="treadle-") as folder:
        file = os.path.join(folder, os.path.basename(path))
        write(file, model(path))
        yield file
