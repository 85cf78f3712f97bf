"""Pages of the docs: their blocks, their files and their commands."""

import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
BIN = ROOT / "build" / "release" / "bin"
PAGES = sorted((ROOT / "docs").rglob("*.md")) + [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]

FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page, language):
    for found in FENCE.finditer(page.read_text()):
        if found[1] == language:
            yield found[2].strip(), found[3]


def commands(text):
    """Pairs of a command and what it prints."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


def check_commands(text, folder, tools=()):
    path = os.pathsep.join([*map(str, tools), str(BIN), os.environ["PATH"]])
    for command, output in commands(text):
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=folder,
            env={**os.environ, "PATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
        )
        assert done.stdout == output, command


def write_files(page, folder):
    """Blocks of one name are parts of one file; a path is that of a file in the sources."""
    for found in FENCE.finditer(page.read_text()):
        option = found[2].strip()
        if option.startswith("file=") and "/" not in option:
            with open(folder / option.removeprefix("file="), "a") as file:
                file.write(found[3])
    for name in ("examples", "build"):
        (folder / name).symlink_to(ROOT / name)


def run_console(page, folder, tools=()):
    write_files(page, folder)
    for option, text in blocks(page, "console"):
        if not option:
            check_commands(text, folder, tools)
