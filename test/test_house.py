"""Rooms link one way: a folder includes from those that stand before it in treadle/CMakeLists.txt.

The same order is the map in docs/architecture.md, and the rooms of kernels have one of their own.
"""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
TREADLE = ROOT / "treadle"
INCLUDE = re.compile(r'#include "treadle/([^"]+)"')


def rooms():
    text = (TREADLE / "CMakeLists.txt").read_text()
    return re.search(r"set\(folders\s+([^)]+)\)", text)[1].split()


def sources(folder):
    files = [*folder.rglob("*.h"), *folder.rglob("*.cpp")]
    return [f for f in files if not re.search(r"(_test|Test\w*|Testing)\.(h|cpp)$", f.name)]


def upward(order):
    """Includes of a room that stands behind one's own."""
    return [
        f"{file.relative_to(ROOT)} includes {header}"
        for place, room in enumerate(order)
        for file in sources(TREADLE / room)
        for header in INCLUDE.findall(file.read_text())
        if header.split("/")[0] in order[place + 1 :]
    ]


def test_every_folder_has_its_place():
    folders = {f.parent.name for f in TREADLE.glob("*/CMakeLists.txt")}
    assert folders == set(rooms())


def test_no_folder_includes_upwards():
    assert upward(rooms()) == []


def rooms_of_kernels():
    """In the order that their includes give them, which is one only where they have no circle."""
    folder = TREADLE / "kernels"
    names = {f.parent.name for f in folder.glob("*/Families.h")}
    uses = {
        name: {
            header.split("/")[1]
            for file in sources(folder / name)
            for header in INCLUDE.findall(file.read_text())
            if header.startswith("kernels/") and header.split("/")[1] in names - {name}
        }
        for name in names
    }
    order = []
    while free := sorted(name for name in names - set(order) if uses[name] <= set(order)):
        order += free
    return names, order


def test_rooms_of_kernels_have_no_circle():
    names, order = rooms_of_kernels()
    assert set(order) == names


def test_the_map_shows_every_room():
    page = (ROOT / "docs" / "architecture.md").read_text()
    told = re.findall(r"^\| `(\w+)/` \|", page, re.MULTILINE)
    assert told == rooms()


def test_a_page_of_kernels_names_every_room():
    page = (ROOT / "docs" / "architecture.md").read_text()
    assert {f"`{name}`" for name in rooms_of_kernels()[0]} <= set(re.findall(r"`\w+`", page))
