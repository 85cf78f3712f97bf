"""Rooms depend one way: each may include the rooms that treadle/CMakeLists.txt lists before it.

docs/architecture.md has the same order. The folders of kernels include each other without cycles.
"""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
TREADLE = ROOT / "treadle"
INCLUDE = re.compile(r'#include "treadle/([^"]+)"')
# The room of test support, which only tests include.
TESTING = "testing"


def rooms():
    text = (TREADLE / "CMakeLists.txt").read_text()
    return re.search(r"set\(folders\s+([^)]+)\)", text)[1].split()


def sources(folder):
    files = [*folder.rglob("*.h"), *folder.rglob("*.cpp")]
    return [f for f in files if not f.name.endswith("_test.cpp")]


def product_rooms():
    return [room for room in rooms() if room != TESTING]


def upward(order):
    """Includes of headers from a later room."""
    return [
        f"{file.relative_to(ROOT)} includes {header}"
        for index, room in enumerate(order)
        for file in sources(TREADLE / room)
        for header in INCLUDE.findall(file.read_text())
        if header.split("/")[0] in order[index + 1 :]
    ]


def test_every_room_is_listed():
    folders = {f.parent.name for f in TREADLE.glob("*/CMakeLists.txt")}
    assert folders == set(rooms())


def test_no_room_includes_a_later_one():
    assert upward(rooms()) == []


def test_test_support_has_its_own_room():
    """A header that only tests include belongs in treadle/testing."""
    folders = [TREADLE / room for room in product_rooms()]
    folders += [ROOT / "bench", ROOT / "docs", ROOT / "fuzz"]
    files = [*TREADLE.glob("*.h"), *(f for folder in folders for f in sources(folder))]
    # A source that has the header's name defines what it declares; it isn't a user.
    used = {
        header
        for file in files
        for header in INCLUDE.findall(file.read_text())
        if file != (TREADLE / header).with_suffix(".cpp")
    }
    tests = TREADLE.rglob("*_test.cpp")
    tested = {header for test in tests for header in INCLUDE.findall(test.read_text())}
    assert [h for h in sorted(tested - used) if not h.startswith(f"{TESTING}/")] == []


def rooms_of_kernels():
    """The folders of kernels, and those of them that an order of their includes reaches."""
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


def test_folders_of_kernels_include_without_a_cycle():
    names, order = rooms_of_kernels()
    assert set(order) == names


def test_architecture_lists_every_room():
    page = (ROOT / "docs" / "architecture.md").read_text()
    listed = re.findall(r"^\| `(\w+)/` \|", page, re.MULTILINE)
    assert listed == rooms()


def test_architecture_names_every_folder_of_kernels():
    page = (ROOT / "docs" / "architecture.md").read_text()
    assert {f"`{name}`" for name in rooms_of_kernels()[0]} <= set(re.findall(r"`\w+`", page))


# --- counts that may only go down -----------------------------------------------------------------

FUNCTIONAL = {"While", "StatelessWhile", "If", "StatelessIf", "Case", "StatelessCase", "For"}
FRAMES = {
    prefix + name
    for name in ("Switch", "Merge", "Enter", "Exit", "NextIteration")
    for prefix in ("", "Ref")
} | {"SwitchN", "_SwitchN", "LoopCond"}
# The readers and writers of formats, where each form of control flow has its own name.
FORMATS = {"import", "export", "dialect", "ops"}
# Tables that are keyed by the names of ops.
RECORDS = {"kernels", "shapes", "gradients"}
# The translator has such tables too: `{"Roll", roll}`. Other names that its files quote count.
TRANSLATOR = re.compile(r"codegen/(Translate\w+|Lowerings)\.cpp$")
LOWERING = re.compile(r'\{"\w+",\s*[a-z]\w*(<[^{}]*?>)?\}')


def code_of(file):
    """The text of a file without its comments."""
    return re.sub(r"//[^\n]*", "", file.read_text())


def named_ops(code):
    """Names of ops, quoted or as enumerators of the op table."""
    return set(re.findall(r'"(\w+)"|(?:OpKind|NodeKind)::(\w+)', code))


def files_that_name(ops, also):
    found = []
    for room in set(product_rooms()) - FORMATS:
        for file in sources(TREADLE / room):
            code = code_of(file)
            if ops & {a or b for a, b in named_ops(code)} or re.search(also, code):
                found.append(str(file.relative_to(TREADLE)))
    return sorted(found)


def test_few_files_know_functional_control_flow():
    assert len(files_that_name(FUNCTIONAL, r"\bFunctionalNode\b")) <= 37


def test_few_files_know_v1_control_flow():
    assert len(files_that_name(FRAMES, r"\bisV1ControlFlow\b")) <= 49


def test_graphs_are_copied_within_their_context():
    """Only programs inside nodes are read into a context of their own."""
    files = [f for room in product_rooms() for f in sources(TREADLE / room)]
    sites = [f for f in files if "readBytecodeFile(" in code_of(f)]
    assert [f.name for f in sites] == ["ExpandPrograms.cpp"]


def without_lowerings(file):
    code = code_of(file)
    return LOWERING.sub("", code) if TRANSLATOR.search(file.as_posix()) else code


def test_few_ops_are_named_in_code():
    table = (TREADLE / "ops" / "OpTable.txt").read_text()
    ops = set(re.findall(r"^(\w+)(?= .*->)", table, re.MULTILINE))
    named = {
        name
        for room in set(product_rooms()) - FORMATS - RECORDS
        for file in sources(TREADLE / room)
        for name in re.findall(r'"(\w+)"', without_lowerings(file))
    }
    assert len(named & ops) <= 115


# Suffixes of generated names: `loop_body`, `f_specialized`.
PARTS = {"_branch", "_false", "_ffi", "_ref", "_true", "_variant_"}
# A child in an object graph, not an attribute.
OTHERS = {"_create_resource"}


def named_attributes(code):
    """Attributes that no op defines: quoted names that aren't appended to another string."""
    return set(re.findall(r'(?<!\+ )"((?:tf\.)?_[a-z][\w.]*|tfg\.\w+)"', code))


def test_attributes_that_no_op_has_are_named_once():
    """dialect/NodeAttributes.h names each one, its readers and its value."""
    named = {
        name
        for room in set(product_rooms()) - FORMATS - {"python"}  # names of functions begin so
        for file in sources(TREADLE / room)
        for name in named_attributes(code_of(file))
    }
    assert named <= PARTS | OTHERS
    kept = (TREADLE / "dialect" / "NodeAttributes.h").read_text()
    assert not [name for name in named_attributes(kept) if kept.count(f'"{name}"') != 1]
