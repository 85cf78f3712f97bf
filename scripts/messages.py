#!/usr/bin/env python3
"""Lists the error messages of the tree, to be read from top to bottom.

messages.py [--all] [PATH...]

One line a message: FILE:LINE: TEXT, with {...} for the values that code inserts. In C++ a message
is the text in a call of a function that makes errors (invalidArgument, emitOpError, fail, ...); in
Python, the argument of `raise`. --all adds every other text of at least two words that the C++ code
of these paths contains: help, notes, explanations. PATH is a folder or file that git tracks;
by default treadle/. Tests are left out unless a PATH names one.
"""

import argparse
import ast
import re
import subprocess

# Functions whose arguments are messages. A name counts in any case and with a suffix (failAt).
MAKERS = re.compile(
    r"(?i:invalid_?argument|dead_?line_?exceeded|not_?found|already_?exists|permission_?denied|"
    r"resource_?exhausted|failed_?precondition|aborted|out_?of_?range|unimplemented|internal|"
    r"unavailable|data_?loss|missing_?input|cancelled|fail|refuse|malformed|damaged|unsupported)\w*|"
    r"emit\w*(?:Error|Warning|Remark)|attachNote|\w*[eE]rror(?:At)?|\w*[fF]ailure"
)
TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<tag>\w*)\((?P<raw>.*?)\)(?P=tag)"|"(?P<text>(?:[^"\\\n]|\\.)*)"|'
    r"'(?:[^'\\\n]|\\.)+'|\b\d[\d'.a-zA-Z]*|(?P<name>[A-Za-z_]\w*)|\n\s*#[^\n]*|\s+|<<|.",
    re.DOTALL,
)
WORDS = re.compile(r"[A-Za-z']{2,},? +[a-z({'\d]")


class Tokens:
    """The tokens of a C++ file without comments and white space: (kind, text, line)."""

    def __init__(self, source):
        self.tokens = []
        line = 1
        for match in TOKEN.finditer(source):
            text = match.group()
            if match.group("raw") is not None:
                self.tokens.append(("text", match.group("raw").replace("\n", "\\n"), line))
            elif match.group("text") is not None:
                self.tokens.append(("text", match.group("text"), line))
            elif match.group("name"):
                self.tokens.append(("name", text, line))
            elif not text.isspace() and not re.match(r"//|/\*|\n\s*#", text):
                self.tokens.append(("other", text, line))
            line += text.count("\n")

    def end_of_call(self, start):
        """The index after the call whose '(' is at `start`, with the `<<` that follow it."""
        depth = 0
        for i in range(start, len(self.tokens)):
            kind, text, _ = self.tokens[i]
            if kind != "other":
                continue
            depth += (text in "([{") - (text in ")]}")
            if depth < 0 or (depth == 0 and text == ";"):
                return i
            if depth == 0 and text in ")]}" and self.text(i + 1) not in ("<<", ".", "+"):
                return i + 1
        return len(self.tokens)

    def text(self, i):
        return self.tokens[i][1] if i < len(self.tokens) else ""

    def message(self, start, end):
        """The literals between two tokens, with {} for each run of other tokens between them."""
        out = ""
        for kind, text, _ in self.tokens[start:end]:
            if kind == "text":
                out += text
            elif kind == "name" and not out.endswith("{}"):
                out += "{}"
        return out.removeprefix("{}") if out.startswith("{}{}") else out

    def messages(self, everything):
        i = 0
        while i < len(self.tokens):
            kind, text, line = self.tokens[i]
            if kind == "name" and self.text(i + 1) == "(" and MAKERS.fullmatch(text):
                end = self.end_of_call(i + 1)
                message = self.message(i + 2, end)
                if WORDS.search(message):
                    yield line, message
                    i = end
                    continue
            elif everything and kind == "text":
                end = i + 1
                while end < len(self.tokens) and self.text(end) not in (";", "{", "}"):
                    if self.tokens[end][0] == "name" and MAKERS.fullmatch(self.text(end)):
                        break
                    end += 1
                message = self.message(i, end)
                if WORDS.search(message):
                    yield line, message
                i = end
                continue
            i += 1


def python_messages(source):
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
            yield node.lineno, " ".join(ast.unparse(a) for a in node.exc.args)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("paths", nargs="*", default=["treadle"], metavar="PATH")
    parser.add_argument("--all", action="store_true", help="also texts that aren't errors")
    args = parser.parse_args()
    listed = subprocess.run(["git", "ls-files", *args.paths], capture_output=True, text=True)
    for path in listed.stdout.split():
        if re.search(r"_test\.|/Test|/tests/", path) and path not in args.paths:
            continue
        if re.search(r"\.(cpp|h|inc)$", path):
            with open(path) as file:
                found = Tokens(file.read()).messages(args.all)
        elif path.endswith(".py"):
            with open(path) as file:
                found = python_messages(file.read())
        else:
            continue
        for line, message in sorted(found):
            print(f"{path}:{line}: {message}")


if __name__ == "__main__":
    main()
