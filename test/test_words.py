"""scripts/words.py finds headless openings, replaced phrases and long subjects."""

import importlib.util
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "scripts" / "words.py"
spec = importlib.util.spec_from_file_location("words", PROGRAM)
words = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = words  # dataclasses look for their module there
spec.loader.exec_module(words)


def found(file, text):
    """(line, words) of each finding in a file with this text."""
    return sorted((finding.line, finding.words) for finding in words.findings_of(file, text, {}))


@pytest.mark.parametrize(
    "opening",
    [
        "What it does.",
        "what it gives",
        "Who asks hears it.",
        "Whoever waits is woken.",
        "Whose run it is.",
        "Whatever comes first.",
        "Which of them are constant.",
        "Of equal functions, one is kept.",
        "Where sizes aren't stated, it is slow.",
        "Nothing if there is none.",
        "None where the rank is unknown.",
        "Null: each name is another one.",
        "That a node has as many inputs as its op.",
        "So many products are added first.",
        "How many elements there are.",
    ],
)
def test_a_headless_opening_is_found(opening):
    assert len(found("x.cpp", f"int x; // {opening}\n")) == 1
    assert len(found("x.py", f'def f():\n    """{opening}"""\n')) == 1
    assert len(found("x.md", f"# Title\n\n- Item.\n- {opening}\n")) == 1
    assert len(found("x.td", f'let summary = "{opening}";\n')) == 1


@pytest.mark.parametrize(
    "opening",
    [
        "Whether it is constant.",
        "Returns what it is given.",
        "Null if there is none.",
        "None if the server doesn't start.",
        "Nothing is rounded here.",
        "That saves a tenth of the time.",
        "Of course not.",
        "Where possible, it is folded.",
        "Where, an op of arrays.",
        "What is a frame?",
        "**What it costs.** A copy.",
        "What would change this: a faster kernel.",
        "Where to find things.",
        "whose names are unique",
    ],
)
def test_other_openings_are_fine(opening):
    assert found("x.h", f"// {opening}\n") == []
    assert found("x.md", f"{opening}\n") == []


def test_a_block_is_one_text_and_has_the_line_of_its_opening():
    code = """\
/// Returns the sum:
/// Where lines continue a sentence, they open none.
///
/// What follows an empty line is.
int sum();

int x; // the first
       // What continues a trailing comment isn't.
int y; // What it is.
"""
    assert [line for line, _ in found("x.h", code)] == [4, 9]


def test_a_sentence_inside_a_paragraph_is_found():
    text = "// The sum. Of many. What is\n// pure stays. What for?\n// Whoever waits ends.\n"
    assert [line for line, _ in found("x.h", text)] == [1, 3]


def test_comments_are_told_from_strings():
    code = r"""
const char *url = "https://x // What is no comment";
auto raw = R"(
// What is no comment either.
)"; // What is one.
int n = 1'000'000; // Whether.
"""
    assert [line for line, _ in found("x.cpp", code)] == [5]


def test_python_has_docstrings_and_comments():
    code = '''"""A module."""

# What it is.
TEXT = """
# What is a string.
"""


class C:
    """The class.

    What it is for.

        # what is code

    - Which item.
    """
'''
    assert [line for line, _ in found("x.py", code)] == [3, 12, 16]


def test_pages_have_paragraphs_and_no_code():
    page = """\
# What it runs

The first
What is in the middle.

    what is code

```
What is code, too
```

What is none.

| What | Where |
"""
    assert [line for line, _ in found("docs/x.md", page)] == [12]


def test_descriptions_of_passes_are_paragraphs():
    text = """\
def P : Pass<"p"> {
  let summary = "remove dead nodes";
  let description = [{
    Removes them.

    Where nothing is dead, the graph stays.

    ```mlir
    // What is code
    ```
  }];
  let options = [Option<"x", "x", "bool", "false", "what it does to x">];
}
"""
    assert [line for line, _ in found("Passes.td", text)] == [6, 12]


def test_directives_of_lit_tests_are_no_english():
    text = """\
// RUN: treadle-opt %s | FileCheck %s
// What a loop changes.
// CHECK: What is printed
// expected-error @+1 {{runs anew}}
// Where it ends.
"""
    assert [line for line, _ in found("tests/x.mlir", text)] == [2, 5]


def test_scripts_have_comments():
    assert found("dev", "x=1 # the first\n# What it is.\n") == [(2, "opens with 'What it is. ...'")]
    assert found("x/CMakeLists.txt", "set(x)\n# Where it is.\n")[0][0] == 2


GLOSSARY = """\
| Term | Meaning | Instead of |
| --- | --- | --- |
| graph | The nodes. | |
| cached `prefix` | Kept nodes. | `settled part`; `anew` |
"""


def test_the_glossary_says_what_replaces_a_phrase():
    replaced = words.glossary(GLOSSARY)
    assert replaced == {"settled part": "cached prefix", "anew": "cached prefix"}
    [finding] = words.findings_of("x.h", "// The\n// Settled\n// part.\n", replaced)
    assert str(finding) == "x.h:2: 'Settled part'; write 'cached prefix'"


@pytest.mark.parametrize(
    "file, text, count",
    [
        ("x.h", "// It runs anew.\n", 1),
        ("x.md", "It runs anew.\n", 1),
        ("x.md", "| it runs anew | 2 |\n", 1),
        ("x.cpp", 'error("it runs anew");\n', 1),
        ("x.py", 'raise ValueError("it runs anew")\n', 1),
        ("x.py", 'raise ValueError(f"{it} runs anew")\n', 1),
        ("x.cpp", 'attr("anew");\n', 0),
        ("x_test.cpp", 'node("it runs anew");\n', 0),
        ("test/test_x.py", 'check("it runs anew")\n', 0),
        ("test/test_x.py", "# It runs anew.\n", 1),
        ("x.h", "// `anew` and anew_node and Anewly.\n", 0),
        ("x.h", "int anew;\n", 0),
        ("x.test.ts", 'test("it runs anew", run);\n', 0),
    ],
)
def test_a_replaced_phrase_is_found_in_english_alone(file, text, count):
    assert len(list(words.findings_of(file, text, words.glossary(GLOSSARY)))) == count


def test_a_long_subject_is_found():
    lines = f"abc1 area: change\nabc2 {'x' * 72}\nabc3 {'x' * 73}\n"
    assert [f.line for f in words.long_subjects(lines)] == ["abc3"]


@pytest.mark.parametrize(
    "message, count",
    [
        ("area: change\n\n" + "x" * 99 + "\n", 0),
        ("\n# " + "x" * 99 + "\narea: change\n", 0),
        ("x" * 73 + "\n", 1),
        ("Merge branch '" + "x" * 73 + "'\n", 0),
        ("", 0),
    ],
)
def test_the_subject_of_a_message_is_checked(message, count):
    assert len(list(words.check_message(message))) == count


def test_a_shallow_clone_is_reported(tmp_path, monkeypatch, capsys):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    monkeypatch.setattr(words, "ROOT", tmp_path)
    assert words.commits() == ""
    assert "skipped: commit subjects" in capsys.readouterr().err


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="needs a checkout")
def test_the_tree_has_no_findings():
    done = subprocess.run([sys.executable, PROGRAM], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr
