#!/usr/bin/env python3
"""Writes Abi.h: the part of PJRT's C interface that this folder uses, from the interface's header.

    treadle/pjrt/generate.py tensorflow/include/tensorflow/compiler/xla/pjrt/c/pjrt_c_api.h

Wheels of TensorFlow have that header. Only names, types and the order of fields are taken: those
of what the sources here name, and of all functions, since their places in the table matter.
"""

import re
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
HEAD = """\
// The part of PJRT's C interface that this folder uses. Made by generate.py: don't edit.
#pragma once

#include <cstddef>
#include <cstdint>

// NOLINTBEGIN
"""
BASE = """\
// What all other structs begin with.
struct PJRT_Struct { size_t struct_size; PJRT_Extension_Base *extension_start; };"""


def without_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)


def squeezed(text):
    return re.sub(r"\s+", " ", text).strip()


def derived(text):
    """A struct without the fields that all of them begin with, which are those of its base."""
    return re.sub(r"^(struct \w+) \{ size_t struct_size; PJRT_Extension_Base ?\* ?extension_start;",
                  r"\1 : PJRT_Struct {", text)  # fmt: skip


class Header:
    """The declarations of a header, by name, in order."""

    def __init__(self, text):
        self.text = without_comments(text)
        found = []
        for match in re.finditer(
            r"^(?:typedef )?(struct|enum) ?(\w*) \{(.*?)^\} ?(\w*);", self.text, re.S | re.M
        ):
            kind, first, body, second = match.groups()
            name = first or second
            found.append((match.start(), name, f"{kind} {name} {{ {squeezed(body)} }};"))
        for match in re.finditer(r"^typedef [^;{]*?\(\*(\w+)\)\([^;]*;", self.text, re.S | re.M):
            found.append((match.start(), match[1], squeezed(match[0])))
        self.declarations = {name: text for _, name, text in sorted(found)}
        self.functions = re.findall(r"_PJRT_API_STRUCT_FIELD\((\w+)\);", self.text)
        self.minor = re.search(r"PJRT_API_MINOR (\d+)", self.text)[1]
        del self.declarations["PJRT_Api"]

    def used(self, names):
        """The declarations of names, and what these need, in the header's order."""
        needed, left = set(), [name for name in names if name in self.declarations]
        while left:
            name = left.pop()
            if name in needed:
                continue
            needed.add(name)
            left += [
                word
                for word in re.findall(r"\w+", self.declarations[name])
                if word in self.declarations
            ]
        return [(name, text) for name, text in self.declarations.items() if name in needed]


def table(header, done):
    """The table of functions: those that are done have a type, others a place."""
    yield "struct PJRT_Api : PJRT_Struct { PJRT_Api_Version pjrt_api_version;"
    for name in header.functions:
        result = "void" if name in ("PJRT_Error_Destroy", "PJRT_Error_Message") else "PJRT_Error *"
        yield f"{result} (*{name})({name}_Args *);" if name in done else f"Missing {name};"
    yield "};"


def main():
    header = Header(Path(sys.argv[1]).read_text())
    sources = "".join(
        path.read_text()
        for path in sorted(FOLDER.iterdir())
        if path.suffix in (".cpp", ".h") and path.name != "Abi.h"
    )
    words = set(re.findall(r"\bPJRT_\w+", sources)) | {"PJRT_Api_Version"}
    done = {name for name in header.functions if f"{name}_Args" in words}
    used = header.used(sorted(words))
    text = "\n".join(declaration for _, declaration in used)
    opaque = sorted(
        set(re.findall(r"\b(PJRT_\w+) ?\*", text))
        - {name for name, _ in used}
        - set(header.functions)
    )
    lines = [HEAD, 'extern "C" {']
    lines += [f"struct {name};" for name in opaque]
    for name, declaration in used:
        lines.append(derived(declaration))
        if name == "PJRT_Extension_Base":
            lines.append(BASE)
    lines += ["using Missing = PJRT_Error *(*)(void *);"]
    lines += table(header, done)
    lines += ["}", f"inline constexpr int pjrtMinorVersion = {header.minor};"]
    lines += ["/// Calls `visit(name)` for each function that isn't done."]
    lines += ["// clang-format off", "#define TREADLE_PJRT_MISSING(visit) \\"]
    lines += [f"  visit({name}) \\" for name in header.functions if name not in done]
    lines += ["", "// clang-format on", "// NOLINTEND", ""]
    formatted = subprocess.run(
        ["clang-format-22", "--assume-filename=treadle/pjrt/Abi.h"],
        input="\n".join(lines), capture_output=True, text=True, check=True,
    )  # fmt: skip
    (FOLDER / "Abi.h").write_text(formatted.stdout)


if __name__ == "__main__":
    main()
