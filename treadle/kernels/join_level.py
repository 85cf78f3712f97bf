#!/usr/bin/env python3
"""Joins the objects of a level into one with a single name, as KernelLevels.h describes.

join_level.py --ld LD --objcopy OBJCOPY --objdump OBJDUMP --level x86-64-v3 --entry NAME
              --out FILE --static-out FILE OBJECT...

All code goes to the section .text_LEVEL. All symbols become local except the entry and variables of
inline functions and templates, which must be unique in the whole program (such as the pool of
waiters of std::atomic). Variables that a library instantiates for our types stay local to the
level, since the layout of such a type may depend on the level (such as pocketfft's cache of our
plans).

The static library gets another form, from which a linker keeps only the code that a program uses:
each function has its own section, and each kernel table a symbol, LEVEL.FUNCTION
(kernelTableSymbol).
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

# Sections with writable variables. (.data.rel.ro is only written by the loader.)
WRITABLE = (".data", ".bss", ".tdata", ".tbss")


def is_writable(section):
    return section.startswith(WRITABLE) and not section.startswith(".data.rel.ro")


def is_of_level(name):
    """Whether the symbol belongs to a library's function instantiated for a type of ours."""
    return "7treadle" in name and not re.match(r"_Z(GV)?Z?NK?7treadle", name)


def variables(objdump, file):
    """Yields (name, whether it is unique in the whole program) of writable variables."""
    table = subprocess.run([objdump, "-t", file], check=True, capture_output=True, text=True).stdout
    for line in table.splitlines():
        address, _, rest = line.partition(" ")
        if len(address) != 16 or "\t" not in rest:
            continue
        flags, section = rest[:7], rest[8:].split("\t")[0]
        if is_writable(section) and "O" in flags:
            yield line.split()[-1], flags[1] == "w" or flags[0] in "gu"


def tables(objdump, file):
    """Yields (symbol, function name) of the functions that return a kernel table."""
    table = subprocess.run([objdump, "-t", file], check=True, capture_output=True, text=True).stdout
    for line in table.splitlines():
        name = line.split()[-1] if line.split() else ""
        found = re.fullmatch(r"_ZN7treadle\d+(\w+Kernels)Ev", name)
        if found and "*UND*" not in line:
            yield name, found[1]


def check(objdump, file):
    """Returns an error if the file has something that a hot file must not have, else None."""
    headers = subprocess.run([objdump, "-h", file], check=True, capture_output=True, text=True)
    if ".init_array" in headers.stdout or ".ctors" in headers.stdout:
        return "code that runs while the program starts, on any processor"
    own = [name for name, is_shared in variables(objdump, file) if not is_shared]
    return f"variables of its own, once for each level: {', '.join(own)}" if own else None


def main():
    parser = argparse.ArgumentParser()
    for option in ("ld", "objcopy", "objdump", "level", "entry", "out", "static-out"):
        parser.add_argument(f"--{option}", required=True)
    parser.add_argument("objects", nargs="+")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        script, whole = pathlib.Path(folder, "script"), pathlib.Path(folder, "whole.o")
        section = "text_" + args.level.replace("-", "_")
        script.write_text(f"SECTIONS {{ .{section} 0 : {{ *(.text .text.*) }} }}\n")
        link = [args.ld, "-r", "--force-group-allocation"]
        subprocess.run([*link, "-T", script, "-o", whole, *args.objects], check=True)
        if problem := check(args.objdump, whole):
            sys.exit(f"kernels of {args.level} have {problem}; take the file out of the level")
        shared = [name for name, _ in variables(args.objdump, whole) if not is_of_level(name)]
        names = pathlib.Path(folder, "names")
        names.write_text("\n".join([args.entry, *shared]) + "\n")
        subprocess.run(
            [args.objcopy, f"--keep-global-symbols={names}", whole, args.out], check=True
        )
        subprocess.run([*link, "-o", whole, *args.objects], check=True)
        renamed = {name: f"{args.level}.{table}" for name, table in tables(args.objdump, whole)}
        names.write_text("\n".join([*renamed.values(), *shared]) + "\n")
        pairs = pathlib.Path(folder, "pairs")
        pairs.write_text("".join(f"{old} {new}\n" for old, new in renamed.items()))
        rename = [args.objcopy, f"--redefine-syms={pairs}"]
        subprocess.run([*rename, whole], check=True)
        keep = [args.objcopy, f"--keep-global-symbols={names}"]
        subprocess.run([*keep, whole, args.static_out], check=True)


if __name__ == "__main__":
    main()
