#!/usr/bin/env python3
"""Links the command `treadle` of build/release once more, without shared libraries.

static_program.py OUT        the program to write

It runs on every Linux for x86-64, whatever libraries are there. Of ICU's data the converters alone
are linked (see wheel.py), and checksums go by crc32_iscsi.c instead of ISA-L, which has no static
form in Debian. Nothing is loaded while it runs: neither MPI nor OpenBLAS.
"""

import argparse
import pathlib
import shlex
import sys
import tempfile

import wheel

HERE = pathlib.Path(__file__).resolve().parent


def archive(library):
    """The static form of libNAME.so: its path."""
    name = f"{library}.a"
    found = wheel.run("cc", f"-print-file-name={name}").strip()
    if found == name:
        sys.exit(f"static_program: there is no {name}; install the package that has it")
    return found


def without_shared(word, stand_ins):
    """What a word of the link command becomes: words."""
    path = pathlib.PurePath(word)
    if word.startswith("-l"):
        library = f"lib{word.removeprefix('-l')}"
    elif ".so" in path.suffixes:
        library = path.name.split(".so")[0]
    else:
        return [word]
    if library == "libicuuc":  # its data come with it
        return [archive(library), stand_ins["libicudata"]]
    return [stand_ins.get(library) or archive(library)]


def link_command(target):
    """By which build/release links a target: words, the linker first."""
    words = shlex.split(wheel.run("ninja", "-C", wheel.BUILD, "-t", "commands", "-s", target))
    words = words[words.index("&&") + 1 :]  # of `: && link && :`
    return words[: words.index("&&")]


def stand_ins(scratch):
    """For libraries that have no static form, or one that is too large: object files."""
    wheel.small_icu_data(scratch / "icu")
    (data,) = (scratch / "icu" / "small").glob("*.S")
    made = {"libicudata": scratch / "icudata.o", "libisal": scratch / "crc.o"}
    wheel.run("cc", "-c", data, "-o", made["libicudata"])
    source = HERE / "crc32_iscsi.c"
    wheel.run("cc", "-O2", "-fPIC", "-msse4.2", "-c", source, "-o", made["libisal"])
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", metavar="OUT", type=pathlib.Path, help="the program to write")
    out = parser.parse_args().out.resolve()
    with tempfile.TemporaryDirectory() as folder:
        others = stand_ins(pathlib.Path(folder))
        link = link_command("bin/treadle")
        words = [str(new) for word in link for new in without_shared(word, others)]
        words[words.index("-o") + 1] = str(out)
        # What other archives need of each other: libwebp of libm, libre2 of libpthread.
        words += ["-static", "-Wl,--gc-sections", "-s", archive("libbrotlicommon")]
        wheel.run(*words, cwd=wheel.BUILD)
    print(out)


if __name__ == "__main__":
    main()
