"""C and C++ that stands in the docs compiles, and does what the page says.

A block is a file, ```c file=NAME; blocks of one name are its parts, in order. A ```console block of
the page compiles it with `cc` or `c++`, which here are each compiler in turn; a C program is also
compiled as C++, since the header is for both. A path is that of a file in the sources, which the
CMakeLists.txt beside it builds and runs as a test.
"""

import pathlib
import re
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from pages import BIN, PAGES, ROOT, blocks, commands, run_console  # noqa: E402

FENCES = re.compile(r"^ *```(c|cc|cpp|cxx|c\+\+|h|hpp)\b *(.*)$", re.MULTILINE | re.IGNORECASE)
WITH_C = [page for page in PAGES if FENCES.search(page.read_text())]
# Replacements of `cc` and `c++`; the flags turn warnings into errors.
COMPILERS = {
    "gcc": ("gcc", "g++"),
    "clang": ("clang", "clang++"),
    "clang-22": ("clang-22", "clang++-22"),
    "g++": ("g++ -x c++", "g++"),
    "clang++-22": ("clang++-22 -x c++", "clang++-22"),
}
SHIM = """#!/bin/bash
for word; do
  case $word in
    *.c) words+=(LANGUAGE "$word" -x none);;
    *) words+=("$word");;
  esac
done
exec COMPILER STANDARD -Wall -Werror "${words[@]}"
"""


def write_shim(path, compiler):
    compiler, _, language = compiler.partition(" ")
    text = SHIM.replace("COMPILER", compiler).replace("LANGUAGE", language or "-x c")
    is_cpp = language or "++" in compiler
    path.write_text(text.replace("STANDARD", "-std=c++20" if is_cpp else "-std=c11"))
    path.chmod(0o755)


@pytest.mark.parametrize("page", WITH_C, ids=lambda page: page.stem)
def test_each_block_is_a_file_that_the_page_compiles(page):
    lines = "\n".join(c for _, text in blocks(page, "console") for c, _ in commands(text))
    for found in FENCES.finditer(page.read_text()):
        name = re.fullmatch(r"file=(\S+)", found[2])
        assert name, f"line '{found[0]}': expected file=NAME, so that it can be compiled"
        path = ROOT / name[1]
        if "/" in name[1]:
            cmake = (path.parent / "CMakeLists.txt").read_text()
            assert f"add_test(NAME {path.stem} " in cmake and path.name in cmake
            continue
        compiles = rf"^(cc|c\+\+) .*\b{re.escape(name[1])}\b"
        used = name[1].endswith((".h", ".hpp")) or re.search(compiles, lines, re.MULTILINE)
        assert used, f"no command of the page compiles {name[1]}"


@pytest.mark.parametrize("name", COMPILERS)
@pytest.mark.parametrize("page", WITH_C, ids=lambda page: page.stem)
def test_blocks_compile_link_and_run(page, name, tmp_path):
    if not shutil.which(COMPILERS[name][1]):
        pytest.skip(f"there is no {name}")
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool, compiler in zip(("cc", "c++"), COMPILERS[name], strict=True):
        write_shim(tools / tool, compiler)
    run_console(page, tmp_path, [tools])


def examples_in(header):
    """Indented code of its first comment, which is C++'s or C's."""
    comment = re.match(r"(//.*\n)+|/\*(?s:.*?)\*/", header.read_text())[0]
    lines = re.findall(r"^(?://|  )     (.*)$", comment, re.MULTILINE)
    return "\n".join(line for line in lines if not line.startswith("#include"))


HEADERS = [h for h in sorted((ROOT / "treadle").glob("*.h")) if examples_in(h)]


@pytest.mark.parametrize("header", HEADERS, ids=lambda header: header.stem)
def test_examples_of_headers_compile(header, tmp_path):
    program = tmp_path / "program.cpp"
    includes = f'#include "treadle/{header.name}"\n#include <cstdio>\n'
    program.write_text(f"{includes}void example() {{\n{examples_in(header)}\n}}\n")
    compiler = next(c for c in ("clang++-22", "clang++", "c++") if shutil.which(c))
    command = [compiler, "-std=c++20", "-fsyntax-only", f"-I{ROOT}", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_help_tells_the_line_of_the_page():
    page = (ROOT / "docs" / "compile.md").read_text()
    told = subprocess.run([BIN / "treadle", "compile", "--help"], capture_output=True, text=True)
    words = re.search(r"cc program\.c net\.o -o program (.*)", page)[1].split()
    assert [word for word in words if word not in told.stdout.split()] == []


def test_pages_with_c_are_found():
    assert ROOT / "docs" / "compile.md" in WITH_C
    assert {header.name for header in HEADERS} >= {"treadle.h", "Builder.h", "c.h"}
