#!/usr/bin/env python3
"""Links the command `treadle` of build/release again, without shared libraries.

static_program.py OUT        the program to write

It runs on every Linux for x86-64 with any libraries. Only the converters of ICU's data are linked
(see wheel.py). crc32_iscsi.c replaces ISA-L, of which Debian has no static library. The program
loads no libraries at run time, so it has neither MPI nor OpenBLAS.
"""

import argparse
import pathlib
import shlex
import sys
import tempfile

import wheel

HERE = pathlib.Path(__file__).resolve().parent


def archive(library):
    """Returns the path of the static form of libNAME.so."""
    name = f"{library}.a"
    found = wheel.run("cc", f"-print-file-name={name}").strip()
    if found == name:
        sys.exit(f"static_program: there is no {name}; install the package that has it")
    return found


def without_shared(word, stand_ins):
    """Returns the words that replace a word of the link command."""
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
    """Returns the command by which build/release links a target, as words, the linker first."""
    words = shlex.split(wheel.run("ninja", "-C", wheel.BUILD, "-t", "commands", "-s", target))
    words = words[words.index("&&") + 1 :]  # of `: && link && :`
    return words[: words.index("&&")]


def stand_ins(scratch):
    """Returns object files that replace libraries without a static form, or with a large one."""
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
        # Archives that other archives need: libwebp needs libm, libre2 needs libpthread.
        words += ["-static", "-Wl,--gc-sections", "-s", archive("libbrotlicommon")]
        wheel.run(*words, cwd=wheel.BUILD)
    print(out)


if __name__ == "__main__":
    main()
