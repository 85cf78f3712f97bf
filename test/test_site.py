"""The docs as a site: its pages, its reference, its links, and its picture.

Pages are written here, without a network. The site is built from them if `./dev docs` has created
its environment, build/docs-venv.
"""

import inspect
import os
import pathlib
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree

import numpy as np
import pytest

import treadle

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "release"
SPHINX = ROOT / "build" / "docs-venv"

sys.path.insert(0, str(ROOT / "scripts"))
from docs import check, ops, pages, picture, prose, site  # noqa: E402


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site") / "pages"
    site.write(BUILD, folder, treadle)
    return folder


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Returns the site that ./dev docs makes with the release build, without building here."""
    requirements = (ROOT / "scripts" / "requirements-docs.txt").read_text().strip()
    stamp = SPHINX / "made-from"
    if not stamp.exists() or requirements not in stamp.read_text():
        pytest.skip("there is no build/docs-venv of these requirements; ./dev docs makes it")
    root = tmp_path_factory.mktemp("dev")
    shutil.copy(ROOT / "dev", root)
    for name in ("scripts", "CMakePresets.json", "treadle", "test", "bench", "fuzz"):
        (root / name).symlink_to(ROOT / name)
    (root / "build").mkdir()
    for path in (ROOT / "build" / "venv", BUILD, SPHINX):
        (root / "build" / path.name).symlink_to(path)
    (root / "tools").mkdir()
    for tool in ("ninja", "cmake"):
        (root / "tools" / tool).write_text("#!/bin/sh\n")
        (root / "tools" / tool).chmod(0o755)
    environment = {**os.environ, "PATH": f"{root / 'tools'}:{os.environ['PATH']}"}
    done = subprocess.run(
        [root / "dev", "docs"], capture_output=True, text=True, timeout=600, env=environment
    )
    assert (done.returncode, done.stdout) == (0, f"{root}/build/docs/index.html\n"), done.stderr
    return root / "build" / "docs"


def headings(page, level):
    text = "".join(piece for is_code, piece in pages.pieces(page.read_text()) if not is_code)
    return re.findall(rf"^{'#' * level} (.*)$", text, re.MULTILINE)


def test_the_navigation_names_each_page_once():
    groups = site.read_on((ROOT / "README.md").read_text())
    named = [page for entries in groups.values() for _, page in entries]
    kept = [path.stem for path in (ROOT / "docs").glob("*.md")]
    assert sorted(named) == sorted([*kept, "contributing", "changes", "decisions/index"])


def test_each_decision_is_in_the_list(source):
    listed = (source / "decisions" / "index.md").read_text().split()
    for path in (ROOT / "docs" / "decisions").glob("0*.md"):
        assert path.stem in listed and (source / "decisions" / path.name).exists()


def test_the_reference_has_each_command_and_option(source):
    page = source / "reference" / "commands.md"
    manual = subprocess.run(
        [BUILD / "bin" / "treadle", "--manual"], check=True, capture_output=True, text=True
    ).stdout.replace("\\-", "-")
    for part in re.split(r"^\.SS ", manual, flags=re.MULTILINE)[1:]:
        name = " ".join(part.split()[:2])
        assert name in headings(page, 2)
        section = page.read_text().split(f"\n## {name}\n")[1].split("\n## ")[0]
        for option in re.findall(r"^\\fB(--[\w-]+)\\fR", part, re.MULTILINE):
            assert f"| `{option}" in section, name


def test_the_reference_has_each_name_of_python(source):
    page = source / "reference" / "python.md"
    for name in set(treadle.__all__) - {"__version__"}:
        assert name in headings(page, 2)
        thing = getattr(treadle, name)
        if not inspect.isclass(thing) or issubclass(thing, tuple | Exception):
            continue
        for method, value in vars(thing).items():
            is_shown = callable(value) or isinstance(value, property | staticmethod)
            if is_shown and not method.startswith("_"):
                assert f"{name}.{method}" in headings(page, 3)


def test_the_reference_says_what_docstrings_say(source):
    text = (source / "reference" / "python.md").read_text()
    for thing in (treadle.Session.run, treadle.Graph.add, treadle.Builder.op, treadle.load):
        said = [line for line in inspect.getdoc(thing).splitlines() if line.endswith(".")]
        words = re.sub(r"\W+", " ", prose.plain(said[0]))
        assert words in re.sub(r"\W+", " ", text)


@pytest.mark.parametrize("module", ["explanation", "torch", "tensorflow", "mlserver"])
def test_the_reference_has_the_other_modules(source, module):
    page = source / "reference" / f"python-{module}.md"
    path = ROOT / "treadle" / "python" / "treadle" / module
    code = (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text()
    defined = re.findall(r"^(?:def|class) ([A-Za-z]\w*)", code, re.MULTILINE)
    assert defined and set(defined) <= set(headings(page, 2))


def test_the_reference_has_each_function_of_c(source):
    header = (ROOT / "treadle" / "c.h").read_text()
    functions = re.findall(r"^TREADLE_API [^;(]*?(\w+)\(", header, re.MULTILINE)
    types = re.findall(r"^typedef (?:struct|enum) (\w+)", header, re.MULTILINE)
    assert len(functions) > 60 and len(types) > 10
    assert set(functions) | set(types) <= set(headings(source / "reference" / "c.md", 3))


def test_the_reference_has_each_public_header_of_cpp(source):
    named = set(headings(source / "reference" / "cpp.md", 2))
    public = {f"treadle/{path.name}" for path in (ROOT / "treadle").glob("*.h")}
    assert public - {"treadle/c.h"} <= named
    for header in named:
        text = (ROOT / header).read_text()
        for name in re.findall(r"^(?:class|struct|enum class) (\w+) .*\{$", text, re.MULTILINE):
            assert name in headings(source / "reference" / "cpp.md", 3)


def test_the_reference_of_cpp_has_what_macros_make_and_nothing_private(source):
    text = (source / "reference" / "cpp.md").read_text()
    assert "### invalidArgument" in text and "### missingInput" in text
    assert "private:" not in text and "namespace detail" not in text and "Impl" not in text


def test_the_reference_has_each_op(source):
    names = []
    for page in (source / "reference" / "ops").glob("*.md"):
        if page.stem != "index":
            names += headings(page, 2)
    text = (source / "reference" / "ops" / "without_kernel.md").read_text()
    names += re.findall(r"`(.+?)`", text.split("\n\n")[-1])
    assert sorted(names) == sorted(ops.definitions())


def test_the_reference_has_each_pass(source):
    definitions = (ROOT / "treadle" / "transforms" / "Passes.td").read_text()
    names = re.findall(r'^def \w+ : Pass<"([\w-]+)"', definitions, re.MULTILINE)
    assert sorted(names) == headings(source / "reference" / "passes.md", 2)


def ops_of_one_input():
    for op in ops.read(BUILD / "docs" / "ops.tsv"):
        inputs, attrs = op.definition.inputs, op.definition.attrs
        if op.room == "elementwise" and [arg.type_attr for arg in inputs] == ["T"]:
            if [attr.name for attr in attrs] == ["T"] and not op.definition.flags:
                yield op


def runs(op, dtype):
    """Whether the kernel of the op takes the dtype: what else is wrong with a run doesn't count."""
    graph = treadle.Builder().build()
    graph.add("Placeholder", name="x", attrs={"dtype": dtype})
    graph.add(op.name, ["x"], name="y")
    value = np.ones([1, 1]) if dtype != "string" else [["1"]]
    try:
        treadle.Session(graph).run("y", {"x": np.asarray(value).astype(_numpy(dtype))})
    except treadle.UnimplementedError:
        return False
    return True


def _numpy(dtype):
    if dtype == "bfloat16":
        return pytest.importorskip("ml_dtypes").bfloat16
    return object if dtype == "string" else dtype


def test_kernels_take_the_dtypes_that_the_reference_names():
    found = list(ops_of_one_input())
    assert len(found) > 40
    for op in found:
        allowed = next(attr.allowed for attr in op.definition.attrs)
        dtypes = {ops.DTYPES[number] for number in allowed} - {"qint8", "quint8", "qint32"}
        dtypes -= {"qint16", "quint16", "resource", "variant"}
        took = {dtype for dtype in dtypes if runs(op, dtype)}
        assert took == dtypes & set(op.dtypes["T"]), op.name


def test_the_reference_tells_what_has_a_gradient():
    found = {op.name: op.gradient for op in ops.read(BUILD / "docs" / "ops.tsv")}
    assert (found["Exp"], found["Floor"], found["Betainc"]) == ("rule", "constant", "no")
    assert found["While"] == "rule"


def test_the_reference_tells_what_becomes_machine_code():
    found = {op.name: op.has_form for op in ops.read(BUILD / "docs" / "ops.tsv")}
    assert found["AddV2"] and found["MatMul"] and found["While"]
    assert not found["Conv3D"] and not found["PrintV2"]


def anchors(page):
    text = "".join(piece for is_code, piece in pages.pieces(page.read_text()) if not is_code)
    for heading in re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE):
        yield re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def test_links_of_pages_lead_to_pages_and_headings(source):
    checked = 0
    for page in source.rglob("*.md"):
        for link in pages.links(page.read_text()):
            if pages.leads_out(link):
                continue
            name, _, anchor = link.partition("#")
            target = (page.parent / name).resolve() if name else page
            assert target.is_file(), f"{page.relative_to(source)}: {link}"
            assert not anchor or anchor in anchors(target), f"{page.relative_to(source)}: {link}"
            checked += 1
    assert checked > 150


def test_files_of_the_sources_have_pages(source):
    page = source / "sources" / "examples" / "from_c" / "words.c.md"
    assert (ROOT / "examples" / "from_c" / "words.c").read_text().strip() in page.read_text()


def test_the_site_is_made_and_its_links_hold(built):
    assert list(check.problems(built)) == []
    assert "MatMul" in (built / "reference" / "ops" / "products.html").read_text()
    assert '"matmul"' in (built / "searchindex.js").read_text()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('<a href="gone.html">x</a>', "'gone.html' is no file of the site"),
        ('<a href="#gone">x</a>', "'#gone' names a heading that isn't there"),
        ('<a href="other.html#gone">x</a>', "'other.html#gone' names a heading that isn't there"),
        (
            '<script src="https://example.com/x.js"></script>',
            "'https://example.com/x.js' would come from the network",
        ),
        (
            '<link rel="stylesheet" href="//example.com/x.css">',
            "'//example.com/x.css' would come from the network",
        ),
        ('<img src="gone.svg">', "'gone.svg' is no file of the site"),
    ],
)
def test_the_check_finds(tmp_path, text, message):
    (tmp_path / "other.html").write_text('<h1 id="here">x</h1>')
    (tmp_path / "page.html").write_text(text)
    assert list(check.problems(tmp_path)) == [f"page.html: {message}"]


def test_the_check_lets_pass(tmp_path):
    (tmp_path / "other.html").write_text('<h1 id="here">x</h1>')
    links = ("other.html#here", "other.html", "https://example.com")
    (tmp_path / "page.html").write_text("".join(f'<a href="{link}">x</a>' for link in links))
    assert list(check.problems(tmp_path)) == []


def test_the_check_wants_pages(tmp_path):
    assert list(check.problems(tmp_path)) == [f"{tmp_path}: there are no pages"]


def test_docstrings_become_markdown():
    text = prose.docstring(
        "Adds *x* of `a|b`.\n\nArgs:\n    x: a value\n        of f32.\n\n>>> add(1)\n2\n"
    )
    assert text == (
        "Adds \\*x\\* of `a|b`.\n\n**Args:**\n\n- `x`: a value of f32.\n\n"
        "```pycon\n>>> add(1)\n2\n```\n"
    )


def test_docstrings_may_say_of_arguments_what_they_are():
    text = prose.docstring("Runs.\n\nx: a value,\nfed.\ny: another.\n\nNote: done.", ["x", "y"])
    assert text == "Runs.\n\n- `x`: a value, fed.\n- `y`: another.\n\nNote: done.\n"


def times(svg):
    """The milliseconds of both halves."""
    return [int(found) for found in re.findall(r": (\d+) ms</text>", svg)]


def test_the_picture_is_what_a_run_gives():
    svg = picture.draw()
    in_turns, overlapping = times(svg)
    assert in_turns >= 8 * 28 and in_turns > 1.5 * overlapping
    tags = [element.tag for element in xml.etree.ElementTree.fromstring(svg)]
    assert sum(tag.endswith("}rect") for tag in tags) == 3 + 2 * 8 * 3


def test_the_readme_says_how_many_ops_run():
    said = int(
        re.search(r"about ([\d,]+) ops", (ROOT / "README.md").read_text())[1].replace(",", "")
    )
    known = [op for op in ops.read(BUILD / "docs" / "ops.tsv") if op.room]
    assert abs(said - sum(not op.name.startswith("_") for op in known)) <= 10


def test_the_page_on_loops_has_the_times_of_its_picture():
    page = ROOT / "docs" / "loops.md"
    said = re.search(
        r"take (\d+) ms one after the other and (\d+) ms overlapping\]\((.+?)\)", page.read_text()
    )
    assert times((page.parent / said[3]).read_text()) == [int(said[1]), int(said[2])]
