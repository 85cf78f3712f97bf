"""The docs are true: their programs run unchanged, and print what the pages state.

A page's ```LANGUAGE file=NAME blocks are files; in its ```console blocks each `$ command` is run in
a folder of these files, the examples and the build, and what it prints, to either stream, is what
follows it. A ```python run block is a program that prints what the ```output block after it says. A
```cpp or ```c file=examples/PATH block is that file. On from-jax.md, ```python jax blocks run in a
Python that has JAX (TREADLE_JAX_PYTHON, or this one), ```console jax and ```python treadle blocks
after them in the same folder.
"""

import os
import pathlib
import re
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from pages import FENCE, PAGES, ROOT, blocks, check_commands, run_console  # noqa: E402

REFERENCE = ROOT / "build" / "release" / "docs"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_programs_print_what_the_page_says(page, tmp_path):
    run_console(page, tmp_path)


def anchors(page):
    """Returns the anchors of the page's headings."""
    for heading in re.findall(r"^#+ (.*)$", FENCE.sub("", page.read_text()), flags=re.MULTILINE):
        yield re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_to_pages_and_headings(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", FENCE.sub("", page.read_text())):
        if "://" in link:
            continue
        name, _, heading = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), link
        assert not heading or heading in anchors(target), link


def test_pages_that_files_name_exist():
    found = subprocess.run(
        ["git", "grep", "-IohE", r"\bdocs/[A-Za-z0-9_/-]+\.md\b", "--", ".", ":!test"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if found.returncode > 1:
        pytest.skip("this isn't a checkout of git")
    pages = sorted(set(found.stdout.split()))
    assert pages and [page for page in pages if not (ROOT / page).exists()] == []


def test_the_readme_leads_to_every_page():
    text = (ROOT / "README.md").read_text()
    for page in (ROOT / "docs").glob("*.md"):
        assert f"(docs/{page.name}" in text, page.name


def test_the_index_has_the_title_of_each_decision():
    folder = ROOT / "docs" / "decisions"
    listed = re.findall(
        r"^\| \[(\d+)\]\((\S+)\) \| (.*?) \|", (folder / "README.md").read_text(), re.MULTILINE
    )
    titles = {
        path.name: path.read_text().split("\n")[0].removeprefix(f"# {path.name[:4]}: ")
        for path in folder.glob("0*.md")
    }
    assert {name: title for _, name, title in listed} == titles


def python_programs(page, option="run"):
    found = list(FENCE.finditer(page.read_text()))
    for index, block in enumerate(found):
        if block[1] == "python" and block[2].strip() == option:
            assert found[index + 1][1] == "output"
            yield block[3], found[index + 1][3]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_python_programs_print_what_the_page_says(page):
    for program, output in python_programs(page):
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=120
        )
        assert (done.stdout, done.stderr) == (output, ""), program


def test_a_page_with_programs_is_found():
    assert any(list(blocks(page, "console")) for page in PAGES)
    assert any(list(python_programs(page)) for page in PAGES)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_programs_that_are_built_stand_in_the_page(page):
    for option, text in [*blocks(page, "cpp"), *blocks(page, "c")]:
        if option.startswith("file=examples/"):
            assert (ROOT / option.removeprefix("file=")).read_text() == text


def test_the_page_on_jax(tmp_path):
    python = os.environ.get("TREADLE_JAX_PYTHON") or sys.executable
    if subprocess.run([python, "-c", "import jax"], capture_output=True).returncode:
        pytest.skip(f"{python} has no JAX; TREADLE_JAX_PYTHON can name one that has")
    page = ROOT / "docs" / "from-jax.md"
    for language, interpreter in (("jax", python), ("treadle", sys.executable)):
        programs = list(python_programs(page, language))
        assert programs
        for program, output in programs:
            done = subprocess.run(
                [interpreter, "-c", program],
                cwd=tmp_path,
                capture_output=True,
                text=True,
                timeout=300,
            )
            assert done.stdout == output, program + done.stderr
    for option, text in blocks(page, "console"):
        if option == "jax":
            check_commands(text, tmp_path)


def reference_sections():
    """Ops and passes: (page, name, text), as the reference is made from the .td files."""
    for page in sorted(REFERENCE.glob("*.md")):
        text = re.split(r"^## (?:Attributes|Types|Enums)$", page.read_text(), flags=re.MULTILINE)[0]
        for section in re.split(r"^### ", text, flags=re.MULTILINE)[1:]:
            yield page.stem, section.split("`")[1], section


@pytest.mark.parametrize(
    "section",
    [pytest.param(text, id=f"{page}:{name}") for page, name, text in reference_sections()],
)
def test_the_reference_has_an_example(section):
    assert "```mlir\n" in section


def test_there_is_a_reference():
    assert {"tfg", "passes"} <= {page for page, _, _ in reference_sections()}
