"""Which sources a unity build may compile as one.

unity.py FILE...      prints NUMBER=FILE for those in batches, separated by semicolons

In one translation unit the unnamed namespaces of all its files are one, so that a file can't share
a batch with one that defines the same name or whose headers declare it. Names are found by their
column: clang-format sets what stands at namespace scope to the first. Files that instantiate
Eigen's decompositions stay alone: each takes as long as a batch.
"""

import functools
import re
import sys
from pathlib import Path

SIZE = 8
ROOT = Path(__file__).parent.parent

TYPE = re.compile(r"(?:struct|class|enum class|enum|union|using) (\w+)")
VARIABLE = re.compile(r"[^=({]*?(\w+)(?:\[[^\]]*\])*(?: =|\{)")
FUNCTION = re.compile(r"[^=(]*?(\w+)\(")
OURS = re.compile(r'#include "(treadle/[^"]+)"')
PARAMETERS = re.compile(r"template <(?:[^<>]|<[^<>]*>)*> ?")
NOT_DEFINITIONS = re.compile(r"[ #}/)]|$|namespace|using namespace|TEST|static_assert")


def names(text: str) -> set[str]:
    found = set()
    for line in re.sub(r"//[^\n]*", "", text).split("\n"):
        line = PARAMETERS.sub("", line, count=1)
        if NOT_DEFINITIONS.match(line):
            continue
        for pattern in (TYPE, VARIABLE, FUNCTION):
            if match := pattern.match(line):
                found.add(match[1])
                break
    return found


@functools.cache
def headerNames(header: str) -> frozenset[str]:
    """Of a header of ours, with those it includes."""
    path = ROOT / header
    if not path.exists():  # generated
        return frozenset()
    text = path.read_text()
    return frozenset(names(text)).union(*map(headerNames, OURS.findall(text)))


class Batch:
    def __init__(self) -> None:
        self.files: list[str] = []
        self.private: set[str] = set()  # what a file defines for itself
        self.visible: set[str] = set()  # what headers declare

    def takes(self, private: set[str], visible: set[str]) -> bool:
        clashes = private & (self.private | self.visible) or visible & self.private
        return len(self.files) < SIZE and not clashes

    def add(self, file: str, private: set[str], visible: set[str]) -> None:
        self.files.append(file)
        self.private |= private
        self.visible |= visible


def main(files: list[str]) -> None:
    batches: list[Batch] = []
    for file in files:
        text = Path(file).read_text()
        if re.search(r"#include <Eigen/(?!Core)", text):
            continue
        visible = set().union(*map(headerNames, OURS.findall(text)))
        private = names(text) - visible
        batch = next((b for b in batches if b.takes(private, visible)), None)
        if not batch:
            batch = Batch()
            batches.append(batch)
        batch.add(file, private, visible)
    placed = [f"{i}={file}" for i, batch in enumerate(batches) for file in batch.files]
    print(";".join(placed), end="")


if __name__ == "__main__":
    main(sys.argv[1:])
