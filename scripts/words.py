#!/usr/bin/env python3
"""Checks the words of comments, docs, messages and commits; docs/glossary.md has the vocabulary.

words.py [--rooms] [PATH...]    PATHs are files or folders; all tracked files if there are none
words.py --message FILE         check the commit message in FILE alone, as the hook commit-msg does

It prints one finding a line (`FILE:LINE: the words; what to write instead`) and exits with 1 if
there are any. `--rooms` prints the number of findings by folder instead. It finds:

- A comment block, docstring, pass description or paragraph, or a sentence in one, that opens with a
  headless clause, such as "What it does" or "Of equal nodes, one is kept": readers wait for the
  subject.
- A phrase that the glossary replaces, also in string literals. They are in backticks in the last
  column of its tables.
- A commit since FIRST_COMMIT whose subject has more than LONGEST_SUBJECT characters.
"""

import argparse
import ast
import bisect
import collections
import dataclasses
import functools
import io
import pathlib
import re
import subprocess
import sys
import textwrap
import tokenize

ROOT = pathlib.Path(__file__).resolve().parent.parent
GLOSSARY = pathlib.Path("docs/glossary.md")
FIRST_COMMIT = "3a44dda91f5a7d84bc8dbd23c2cb363841e3292f"
LONGEST_SUBJECT = 72

# The kinds of texts.
PROSE, CELLS, LITERAL = "prose", "cells", "literal"


@dataclasses.dataclass(frozen=True)
class Text:
    """A paragraph of a comment, docstring, description or page; a row of a table; a literal."""

    file: str
    line: int
    words: str  # with the line breaks of the file
    kind: str = PROSE


@dataclasses.dataclass(frozen=True)
class Finding:
    file: str
    line: int
    words: str
    advice: str

    def __str__(self):
        return f"{self.file}:{self.line}: {self.words}; {self.advice}"


# --- the texts of a file --------------------------------------------------------------------------

C_TOKEN = re.compile(
    r"""
      R"(?P<delimiter>[^()\\\s"]{0,16})\((?P<raw>.*?)\)(?P=delimiter)"
    | "(?P<string>(?:[^"\\\n]|\\.)*)"
    | (?<!\w)'(?P<char>(?:[^'\\\n]|\\.)*)'
    | `(?P<template>(?:[^`\\]|\\.)*)`
    | //(?P<comment>[^\n]*)
    | /\*(?P<block>.*?)\*/
    """,
    re.DOTALL | re.VERBOSE,
)
# The prose of a .td file: `let description = [{ ... }];` and `let summary = "...";`.
TD_DESCRIPTION = re.compile(r"\b(?:description|summary)\s*=\s*\[\{(.*?)\}\]", re.DOTALL)
TD_SUMMARY = re.compile(r'\bsummary\s*=\s*"((?:[^"\\]|\\.)*)"')
# Comments that aren't English.
DIRECTIVE = re.compile(r"\s*(NOLINT|clang-format|noqa|ruff:|type:|shellcheck|namespace )")
# Those of lit tests: `RUN: ...`, `CHECK-NEXT: ...`, `expected-error @+1 {{...}}`.
LIT_DIRECTIVE = re.compile(r"\s*([A-Z][A-Z0-9_-]*:|expected-)")
RULE = re.compile(r"[-=#*]{3,}")


class Lines:
    """The line numbers of offsets in a text."""

    def __init__(self, text):
        self.starts = [0, *(m.end() for m in re.finditer("\n", text))]

    def at(self, offset):
        return bisect.bisect_right(self.starts, offset)


def c_texts(file, text):
    lines = Lines(text)
    if file.endswith(".td"):
        for pattern in (TD_DESCRIPTION, TD_SUMMARY):
            for found in pattern.finditer(text):
                yield from markdown_texts(file, dedented(found[1]), lines.at(found.start(1)))
        text = TD_DESCRIPTION.sub(blanked, TD_SUMMARY.sub(blanked, text))
    comments = []  # (line, column, whether code stands before it, words)
    for found in C_TOKEN.finditer(text):
        kind = found.lastgroup if found.lastgroup != "delimiter" else "raw"
        line = lines.at(found.start())
        if kind == "comment":
            column = found.start() - lines.starts[line - 1]
            has_code = bool(text[lines.starts[line - 1] : found.start()].strip())
            comments.append((line, column, has_code, found["comment"].lstrip("/!<")))
        elif kind == "block":
            for number, words in enumerate(found["block"].split("\n")):
                comments.append((line + number, 0, False, words.strip(" *!")))
        else:
            # The descriptions of options in .td files, which the reference of passes shows.
            is_description = file.endswith(".td") and found[kind].count(" ") > 1
            yield Text(file, line, found[kind], PROSE if is_description else LITERAL)
    yield from comment_texts(file, comments)


def dedented(text):
    """Returns the text without the indentation that all lines but the first share."""
    first, newline, rest = text.partition("\n")
    return first.lstrip() + newline + textwrap.dedent(rest)


def blanked(found):
    return re.sub(r"[^\n]", " ", found[0])


def comment_texts(file, comments):
    """Yields paragraphs: the joined comments of successive lines."""
    paragraph, before = [], None
    for line, column, has_code, words in comments:
        continues = before and line == before[0] + 1 and not has_code
        # Below a comment that has code before it, only its own column continues it.
        continues = continues and (not before[2] or before[1] == column)
        words = RULE.sub(" ", words).strip()
        if DIRECTIVE.match(words) or (file.endswith(".mlir") and LIT_DIRECTIVE.match(words)):
            words = ""
        if not continues or not words:
            if paragraph:
                yield Text(file, paragraph[0][0], "\n".join(w for _, w in paragraph))
            paragraph = []
        if words:
            paragraph.append((line, words))
        before = (line, column, has_code or (bool(continues) and before[2]))
    if paragraph:
        yield Text(file, paragraph[0][0], "\n".join(w for _, w in paragraph))


def python_texts(file, text):
    docstrings = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                if isinstance(first.value.value, str):
                    docstrings.add(first.lineno)
                    yield from markdown_texts(file, dedented(first.value.value), first.lineno)
    comments = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        line, column = token.start
        if token.type == tokenize.COMMENT:
            has_code = bool(token.line[:column].strip())
            comments.append((line, column, has_code, token.string.lstrip("#")))
        elif token.type in STRINGS and line not in docstrings:
            yield Text(file, line, token.string, LITERAL)
    yield from comment_texts(file, comments)


# Python 3.12 and later split an f-string into tokens.
STRINGS = {tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}


def hash_texts(file, text):
    """Yields the comments of CMake and shell files."""
    comments = []
    for number, line in enumerate(text.split("\n"), 1):
        found = re.search(r"(?:^|\s)#(?!!)([^\n\"']*|[^\n]*)$", line)
        if found:
            column = found.start() + (found[0] != found[0].lstrip())
            comments.append((number, column, bool(line[:column].strip()), found[1]))
    yield from comment_texts(file, comments)


def markdown_texts(file, text, first_line=1):
    """Yields paragraphs, list items and rows of tables, without headings and code."""
    paragraph, in_fence, begins = [], False, True
    for number, line in enumerate([*text.split("\n"), ""], first_line):
        words = line.strip()
        item = re.match(r"(?:[-*+]|\d+\.)\s+", words)
        if words.startswith("```"):
            in_fence = not in_fence
        is_code = in_fence or words.startswith("```") or (begins and re.match(r" {4}|\t", line))
        is_break = not words or is_code or item or words.startswith(("#", "|", "<", "!["))
        if is_break and paragraph:
            yield Text(file, paragraph[0][0], "\n".join(w for _, w in paragraph))
            paragraph = []
        if words.startswith("|") and not is_code:
            yield Text(file, number, words, CELLS)
        elif item and not is_code:
            paragraph.append((number, words[item.end() :]))
        elif words and not is_break:
            paragraph.append((number, words))
        begins = not paragraph


C_SUFFIXES = set(".c .cpp .css .go .h .js .mjs .mlir .proto .rs .td .ts".split())
HASH_SUFFIXES = {".cmake", ".in", ".toml", ".txt", ".yaml"}
HASH_FILES = {"commit-msg", "dev", "pre-commit", "run", "try_release"}


def texts_of(file, text):
    path = pathlib.PurePath(file)
    if path.suffix in C_SUFFIXES:
        return c_texts(file, text)
    if path.suffix in {".py", ".pyi"}:
        return python_texts(file, text)
    if path.suffix == ".md":
        return markdown_texts(file, text)
    if path.suffix in HASH_SUFFIXES or path.name in HASH_FILES:
        return hash_texts(file, text)
    return ()


# --- headless openings ----------------------------------------------------------------------------

NAME_IT = "open with a verb ('Returns ...') or a noun ('The nodes that ...')"
MAIN_CLAUSE = "put the main clause first ('... if ...')"
# Patterns of openings, and what to write instead. `Whether` is fine for a bool.
HEADLESS = [
    (r"(?:[Ww]hat|[Ww]hatever|Which|Whichever)\b(?! to\b| would change\b)", NAME_IT),
    (r"(?:Who|Whose|Whom|[Ww]hoever)\b", "name the one that acts ('The caller ...', 'A node ...')"),
    (r"(?:Where|Wherever)\b(?!,| to\b| possible\b)", MAIN_CLAUSE),
    (r"Of\b(?! course\b)", "put the subject first ('The first of ...')"),
    (
        r"(Nothing|None|Null)(:| where\b)|Nothing if\b",
        "write 'Null if ...', 'Returns nullopt if ...'",
    ),
    (r"That (of|which|an?|all|each|every|no|nothing)\b", NAME_IT),
    (r"So (many|much|often|that)\b", "name what is counted or meant ('The number of ...')"),
    (r"How many\b", "write 'The number of ...'"),
]


# The sentences of a text, and the openings of those behind the first one.
SENTENCE = re.compile(r"\S.*?(?:[.?!:;](?=\s|$)|$)", re.DOTALL)
INSIDE = re.compile(r"Wh(?:at|atever|o|ose|om|oever)\b(?! to\b| would change\b)")


def headless(text):
    """Yields findings for sentences that open with a headless clause."""
    for sentence in SENTENCE.finditer(text.words):
        words = sentence[0].lstrip("_(\"'")  # not `*`: **What it costs.** is a label
        is_first = sentence.start() == 0
        advice = advice_on(words) if is_first else NAME_IT if INSIDE.match(words) else None
        if advice and not words.endswith("?"):
            line = text.line + text.words.count("\n", 0, sentence.start())
            opening = " ".join(words.split()[:6])
            yield Finding(text.file, line, f"opens with '{opening} ...'", advice)


def advice_on(words):
    return next((advice for pattern, advice in HEADLESS if re.match(pattern, words)), None)


# --- phrases that the glossary replaces -----------------------------------------------------------


def glossary(page):
    """Returns the terms to write instead of the phrases in the last column of the tables."""
    replaced = {}
    for row in re.findall(r"^\|(.*)\|$", page, re.MULTILINE):
        term, *_, phrases = (cell.strip() for cell in row.split("|"))
        for phrase in re.findall(r"`([^`]+)`", phrases):
            replaced[phrase.lower()] = term.replace("`", "")
    return replaced


@functools.cache
def pattern_of(phrases):
    words = sorted(phrases, key=len, reverse=True) or ["\0"]
    joined = "|".join(r"\s+".join(map(re.escape, phrase.split())) for phrase in words)
    return re.compile(rf"(?<![\w`'-])(?:{joined})(?![\w`-])", re.IGNORECASE)


# Literals of tests are inputs, and messages that others write.
TEST_FILE = re.compile(r"^(test|fuzz|bench|treadle/testing)/|(_test\.cpp|\.test\.ts)$")
# A kind of fault in treadle.steps: public.
NAMES = re.compile(r"\bnobody comes\b")


def replaced_phrases(text, pattern, replaced):
    if text.kind == LITERAL and (" " not in text.words or TEST_FILE.search(text.file)):
        return
    # Code in backticks isn't English.
    words = NAMES.sub(blanked, re.sub(r"`[^`]*`", blanked, text.words))
    for found in pattern.finditer(words):
        line = text.line + words.count("\n", 0, found.start())
        term = replaced[" ".join(found[0].lower().split())]
        yield Finding(text.file, line, f"'{' '.join(found[0].split())}'", f"write '{term}'")


# --- commits --------------------------------------------------------------------------------------


def check_message(message):
    """Returns the findings of a commit message, in which lines with `#` are comments."""
    lines = [line for line in message.splitlines() if not line.startswith("#")]
    subject = next((line for line in lines if line.strip()), "")
    return long_subjects("" if subject.startswith("Merge ") else f"message {subject}")


def git(*arguments):
    return subprocess.run(
        ["git", "-C", ROOT, *arguments], capture_output=True, text=True, check=True
    ).stdout


def long_subjects(commits):
    """Yields a finding for each `HASH SUBJECT` line with a long subject."""
    for line in commits.splitlines():
        commit, _, subject = line.partition(" ")
        if len(subject) > LONGEST_SUBJECT:
            yield Finding(
                "commit",
                commit,
                f"'{subject}' has {len(subject)} characters",
                f"write at most {LONGEST_SUBJECT}: 'area: change'; the body says why",
            )


def commits():
    """Returns `HASH SUBJECT` lines of the commits since FIRST_COMMIT; notes if it is missing."""
    try:
        git("cat-file", "-e", f"{FIRST_COMMIT}^{{commit}}")
        return git("log", "--no-merges", "--format=%h %s", f"{FIRST_COMMIT}..HEAD")
    except (OSError, subprocess.CalledProcessError):
        note = f"skipped: commit subjects; {FIRST_COMMIT[:10]} isn't in this clone (is it shallow?)"
        print(f"words: {note}", file=sys.stderr)
        return ""


# --- the command line -----------------------------------------------------------------------------


def tracked(paths):
    return [name for name in git("ls-files", "-z", "--", *paths).split("\0") if name]


def findings(files, replaced):
    for file in files:
        if not (ROOT / file).is_file():
            continue  # removed, but not committed
        try:
            content = (ROOT / file).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        yield from findings_of(file, content, replaced)


def findings_of(file, content, replaced):
    pattern = pattern_of(tuple(replaced))
    for text in texts_of(file, content):
        if text.kind == PROSE:
            yield from headless(text)
        if pathlib.PurePath(file) != GLOSSARY:
            yield from replaced_phrases(text, pattern, replaced)


def room_of(file):
    parts = pathlib.PurePath(file).parts[:-1]
    if parts[:2] == ("treadle", "kernels"):
        return "/".join(parts[:3])
    return "/".join(parts[:2]) or "."


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rooms", action="store_true", help="print numbers of findings by folder")
    parser.add_argument("--message", type=pathlib.Path, metavar="FILE")
    parser.add_argument("paths", nargs="*", metavar="PATH")
    args = parser.parse_args()
    if args.message:
        found = list(check_message(args.message.read_text()))
        print(*found, sep="\n", end="\n" if found else "", file=sys.stderr)
        return 1 if found else 0
    paths = [str(pathlib.Path(path).absolute()) for path in args.paths]
    page = ROOT / GLOSSARY
    if not page.exists():
        print(f"words: skipped: phrases that {GLOSSARY} replaces; it isn't there", file=sys.stderr)
    replaced = glossary(page.read_text() if page.exists() else "")
    found = sorted(findings(tracked(paths), replaced), key=lambda f: (f.file, f.line))
    if not paths:
        found += long_subjects(commits())
    if args.rooms:
        rooms = collections.Counter(room_of(f.file) for f in found if f.file != "commit")
        for room, count in rooms.most_common():
            print(f"{count:6} {room}")
    else:
        print(*found, sep="\n", end="\n" if found else "")
    print(f"words: {len(found)} findings", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
