#!/usr/bin/env python3
"""Builds libtreadle.a from build/release: one object with all code of libtreadle.so.

static_library.py OUT        the archive to write

It exports the symbols of the shared library, and no others: neither LLVM's nor protobuf's.
Unreachable code is removed. Besides it, a program needs only libstdc++ and the C library.
"""

import argparse
import pathlib
import sys
import tempfile

import wheel
from static_program import archive, link_command, stand_ins, without_shared

SHARED = (wheel.BUILD / "lib" / "libtreadle.so").resolve().relative_to(wheel.BUILD)
# One section of each kind, as in a library: 180,000 sections would add 40 MB. Strings and constants
# that linkers merge keep theirs.
SECTIONS = """SECTIONS {
  .text 0 : { *(.text .text.*) }
  .rodata 0 : { *(.rodata .rodata._*) }
  .data.rel.ro 0 : { *(.data.rel.ro .data.rel.ro.*) }
  .data 0 : { *(.data .data.*) }
  .bss 0 : { *(.bss .bss.*) }
  .gcc_except_table 0 : { *(.gcc_except_table .gcc_except_table.*) }
}
"""
PROGRAM = "#include <treadle/c.h>\nint main(void) { return !treadle_version(); }\n"


def shown_names():
    table = wheel.run("nm", "-D", "--defined-only", wheel.BUILD / SHARED)
    return [line.split()[-1] for line in table.splitlines()]


def inputs(stand_ins):
    """Yields the inputs of the shared library's link, as arguments for ld."""
    for word in link_command(SHARED)[1:]:
        if word.endswith("whole-archive"):
            yield word.removeprefix("-Wl,")
        elif word.endswith((".o", ".a", ".so")):
            yield from without_shared(word, stand_ins)
        elif word.startswith("-l") and word != "-ldl":
            yield from without_shared(word, stand_ins)
    yield archive("libbrotlicommon")


def check(library, scratch):
    """Fails on undefined symbols, which users would otherwise find when they link."""
    source = scratch / "program.c"
    source.write_text(PROGRAM)
    command = ["cc", f"-I{wheel.ROOT}", source, library, "-lstdc++", "-lm"]
    wheel.run(*command, "-o", scratch / "program")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", metavar="OUT", type=pathlib.Path, help="the archive to write")
    out = parser.parse_args().out.resolve()
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        script, names = scratch / "sections", scratch / "names"
        script.write_text(SECTIONS)
        shown = shown_names()
        names.write_text("\n".join(shown) + "\n")
        whole, joined = scratch / "whole.o", scratch / "treadle.o"
        link = ["ld.lld-22", "-r", "--force-group-allocation", "--gc-sections", "-T", script]
        roots = [f"-u{name}" for name in shown]
        wheel.run(*link, *roots, "-o", whole, *inputs(stand_ins(scratch)), cwd=wheel.BUILD)
        # LLVM's objcopy: GNU's leaves unique symbols global.
        hide = ["llvm-objcopy-22", "--strip-unneeded", f"--keep-global-symbols={names}"]
        wheel.run(*hide, whole, joined)
        library = scratch / "libtreadle.a"
        wheel.run("ar", "rcsD", library, joined)
        check(library, scratch)
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_bytes(library.read_bytes())
    print(out)


if __name__ == "__main__":
    sys.exit(main())
