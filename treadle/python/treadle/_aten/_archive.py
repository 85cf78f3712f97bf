"""Reads files of torch.export.save (.pt2) without PyTorch.

The archive is a zip: a program in JSON, and tensors in their memory layout. All contents are
validated before use, entries are only read in memory, and nothing in them is executed: pickled
tensors are rejected.
"""

from __future__ import annotations

import json
import os
import zipfile
from typing import BinaryIO

import numpy as np

from .._errors import (
    Error,
    InvalidArgumentError,
    NotFoundError,
    UnavailableError,
    UnimplementedError,
)
from . import _dtypes as dtypes
from ._schema import Exported, Field, meta_of, program_of

# In archives that PyTorch wrote before about 2.8.
_OLD_MODEL = "serialized_exported_program.json"


def read(path: str | os.PathLike[str]) -> Exported:
    """Reads the program in a file. InvalidArgumentError if the file is corrupted,
    UnimplementedError if it uses unsupported features; both name the file."""
    name = os.fspath(path)
    try:
        with open(path, "rb") as file:
            return program_in(file)
    except FileNotFoundError:
        raise NotFoundError(f"there is no file '{name}'") from None
    except OSError as error:
        raise UnavailableError(f"'{name}' can't be read: {error.strerror}") from None
    except Error as error:
        raise type(error)(f"{name}: {error.message}", node=error.node) from None


def program_in(file: BinaryIO) -> Exported:
    """Like `read`, but of an open file."""
    try:
        with zipfile.ZipFile(file) as archive:
            return _Archive(archive, file.seek(0, os.SEEK_END)).program()
    except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
        raise InvalidArgumentError(f"it is not an exported program of PyTorch: {error}") from None
    except RecursionError:
        raise InvalidArgumentError("it nests too deeply") from None


class _Archive:
    """One open file. Entries are uncompressed, and together not larger than the file, which limits
    the bytes that are read."""

    def __init__(self, archive: zipfile.ZipFile, size: int) -> None:
        self._archive = archive
        self._entries = {entry.filename: entry for entry in archive.infolist()}
        if sum(entry.file_size for entry in archive.infolist()) > size:
            raise InvalidArgumentError(
                "its entries are larger than the file; expected an archive of torch.export.save, "
                "which stores them uncompressed"
            )
        self._root = self._find_root()

    def _find_root(self) -> str:
        for name in self._entries:
            if name.endswith(_OLD_MODEL):
                raise UnimplementedError(
                    "it has the format of older releases of PyTorch, with pickled tensors; load it "
                    "there and save it by a newer one, or by treadle.torch.save"
                )
        found = [n.removesuffix("archive_format") for n in self._entries if _ends(n)]
        if len(found) != 1:
            raise InvalidArgumentError(
                "it is not an exported program of PyTorch: it has no entry 'archive_format'"
            )
        return found[0]

    def program(self) -> Exported:
        if self._read("archive_format").strip() != b"pt2":
            raise InvalidArgumentError("entry 'archive_format' isn't 'pt2'")
        if "byteorder" in self and self._read("byteorder").strip() != b"little":
            raise UnimplementedError("its tensors are those of a big-endian machine")
        name = self._model_name()
        tensors = {}
        for folder, file in (("weights", "weights"), ("constants", "constants")):
            tensors |= self._tensors(f"data/{folder}/", f"{name}_{file}_config.json")
        return program_of(self._json(f"models/{name}.json"), tensors)

    def _model_name(self) -> str:
        start = f"{self._root}models/"
        found = [n for n in self._entries if n.startswith(start) and n.endswith(".json")]
        names = sorted(n.removeprefix(start).removesuffix(".json") for n in found)
        if "model" in names:
            return "model"
        if len(names) != 1:
            raise InvalidArgumentError(
                f"it contains {len(names)} programs, but none named 'model'"
                f"{': ' + ', '.join(names[:8]) if names else ''}; expected an archive written by "
                "torch.export.save"
            )
        return names[0]

    def _tensors(self, folder: str, file: str) -> dict[str, np.ndarray]:
        """Returns the tensors that a table names; tensors that share memory are parts of one
        entry."""
        if folder + file not in self:
            pickled = [n for n in self._entries if n.startswith(self._root + folder)]
            if any(n.endswith(".pt") for n in pickled):
                raise UnimplementedError(
                    f"its tensors are pickled ('{pickled[0]}'), which is not supported; save the "
                    "program by a newer PyTorch, or by treadle.torch.save"
                )
            return {}
        table = self._json(folder + file)["config"]
        storages: dict[str, bytes] = {}
        return {name: self._tensor(name, table[name], folder, storages) for name in table.keys()}

    def _tensor(
        self, name: str, field: Field, folder: str, storages: dict[str, bytes]
    ) -> np.ndarray | None:
        place = field["path_name"].text()
        if field["use_pickle"].truth() or not place.startswith(("weight_", "tensor_")):
            return None  # reported when the program uses it
        if place not in storages:
            storages[place] = self._read(folder + place)
        return _tensor_of(field["tensor_meta"], storages[place])

    # ---- entries

    def __contains__(self, name: str) -> bool:
        return self._root + name in self._entries

    def _read(self, name: str) -> bytes:
        entry = self._entries.get(self._root + name)
        if entry is None:
            raise InvalidArgumentError(f"entry '{name}' is missing")
        if entry.compress_type != zipfile.ZIP_STORED or entry.flag_bits & _ENCRYPTED:
            raise InvalidArgumentError(
                f"entry '{name}' is compressed or encrypted; expected it as torch.export.save "
                "writes it"
            )
        try:
            return self._archive.read(entry)
        except (zipfile.BadZipFile, OSError, EOFError, ValueError, NotImplementedError) as error:
            raise InvalidArgumentError(f"entry '{name}' is corrupted: {error}") from None

    def _json(self, name: str) -> Field:
        text = self._read(name)
        if len(text) > _LONGEST_JSON:
            raise InvalidArgumentError(f"entry '{name}' has {len(text)} bytes, which is too long")
        try:
            return Field(json.loads(text), name)
        except (ValueError, UnicodeDecodeError) as error:
            raise InvalidArgumentError(f"entry '{name}' is not JSON: {error}") from None


_ENCRYPTED = 1
_LONGEST_JSON = 1 << 28
# The maximum size that a small storage may be expanded to.
_LARGEST_EXPANDED = 1 << 26


def _ends(name: str) -> bool:
    return name == "archive_format" or name.endswith("/archive_format")


def _tensor_of(field: Field, storage: bytes) -> np.ndarray:
    """Returns a tensor; it may be a part of `storage`."""
    meta = meta_of(field)
    dims = (*meta.shape, *(meta.stride or ()), meta.storage_offset)
    if not all(isinstance(d, int) and d >= 0 for d in dims):
        raise field.error("the tensor's sizes, strides or offset aren't non-negative integers")
    dtype = dtypes.numpy_dtype(meta.dtype)
    count = len(storage) // dtype.itemsize
    last = meta.storage_offset
    last += sum((d - 1) * s for d, s in zip(meta.shape, meta.stride or (), strict=True))
    numel = int(np.prod([*meta.shape], dtype=object)) if meta.shape else 1
    if numel and last >= count:
        raise field.error(
            f"the tensor goes up to element {last} of its memory, which has {count} elements"
        )
    if numel > count and numel * dtype.itemsize > _LARGEST_EXPANDED:
        raise field.error(f"the tensor has {numel} elements in a memory of {count}")
    if not numel:
        return np.zeros(meta.shape, dtype)
    flat = np.frombuffer(storage, dtype, count)[meta.storage_offset :]
    strides = [s * dtype.itemsize for s in meta.stride or ()]
    return np.lib.stride_tricks.as_strided(flat, meta.shape, strides)
