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


# --- what there is too much of, and may only become less ----------------------------------------

FUNCTIONAL = {"While", "StatelessWhile", "If", "StatelessIf", "Case", "StatelessCase", "For"}
FRAMES = {
    prefix + name
    for name in ("Switch", "Merge", "Enter", "Exit", "NextIteration")
    for prefix in ("", "Ref")
} | {"SwitchN", "_SwitchN", "LoopCond"}
# The readers and writers of formats, where each form has a name of its own.
FORMATS = {"import", "export", "dialect", "ops"}
# What is known of each op, by its name.
RECORDS = {"kernels", "shapes", "gradients"}
# So are the rows by which the translator knows what it does for each op: `{"Roll", roll}`. Whatever
# else its files quote counts.
TRANSLATOR = re.compile(r"codegen/(Translate\w+|Lowerings)\.cpp$")
LOWERING = re.compile(r'\{"\w+",\s*[a-z]\w*(<[^{}]*?>)?\}')


def code_of(file):
    """Without comments."""
    return re.sub(r"//[^\n]*", "", file.read_text())


def named_ops(code):
    """Names of ops, quoted or as what the table of ops calls them."""
    return set(re.findall(r'"(\w+)"|(?:OpKind|NodeKind)::(\w+)', code))


def files_that_name(ops, also):
    found = []
    for room in set(rooms()) - FORMATS:
        for file in sources(TREADLE / room):
            code = code_of(file)
            if ops & {a or b for a, b in named_ops(code)} or re.search(also, code):
                found.append(str(file.relative_to(TREADLE)))
    return sorted(found)


def test_few_files_know_functional_control_flow():
    assert len(files_that_name(FUNCTIONAL, r"\bFunctionalNode\b")) <= 38


def test_few_files_know_v1_control_flow():
    assert len(files_that_name(FRAMES, r"\bisV1ControlFlow\b")) <= 49


def test_graphs_are_copied_within_their_context():
    """But for programs inside of nodes, which are read in one of their own."""
    sites = [
        f for room in rooms() for f in sources(TREADLE / room) if "readBytecodeFile(" in code_of(f)
    ]
    assert [f.name for f in sites] == ["ExpandPrograms.cpp"]


def without_lowerings(file):
    code = code_of(file)
    return LOWERING.sub("", code) if TRANSLATOR.search(file.as_posix()) else code


def test_few_ops_are_named_in_code():
    table = (TREADLE / "ops" / "OpTable.txt").read_text()
    ops = set(re.findall(r"^(\w+)(?= .*->)", table, re.MULTILINE))
    named = {
        name
        for room in set(rooms()) - FORMATS - RECORDS
        for file in sources(TREADLE / room)
        for name in re.findall(r'"(\w+)"', without_lowerings(file))
    }
    assert len(named & ops) <= 132


# Of names that are put together: `loop_body`, `f_specialized`.
PARTS = {"_branch", "_false", "_ffi", "_ref", "_true", "_variant_"}
# What isn't an attribute's: a child in an object graph.
OTHERS = {"_create_resource"}


def named_attributes(code):
    """Those that aren't an op's, in quotes that nothing is put in front of."""
    return set(re.findall(r'(?<!\+ )"((?:tf\.)?_[a-z][\w.]*|tfg\.\w+)"', code))


def test_attributes_that_no_op_has_are_named_once():
    """In dialect/NodeAttributes.h, with who reads them and what they hold."""
    named = {
        name
        for room in set(rooms()) - FORMATS - {"python"}  # there, names of functions begin so
        for file in sources(TREADLE / room)
        for name in named_attributes(code_of(file))
    }
    assert named <= PARTS | OTHERS
    kept = (TREADLE / "dialect" / "NodeAttributes.h").read_text()
    assert not [name for name in named_attributes(kept) if kept.count(f'"{name}"') != 1]
