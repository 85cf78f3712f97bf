"""Converts comments and docstrings to Markdown."""

import re
import textwrap


def plain(text):
    """Escapes all markup in the words, except code in `backticks`."""
    parts = re.split(r"(`[^`]+`)", text)
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"([\\*_<>\[\]{}|#])", r"\\\1", parts[i])
    return "".join(parts)


def cell(text):
    """Does the same for a cell of a table, in which code must not have a bar either."""
    return plain(text).replace("\n", " ") if "`" not in text else plain(text.replace("|", "\\|"))


def fenced(text, language="text"):
    return f"```{language}\n{text.rstrip()}\n```\n"


def paragraphs(text):
    """Splits lines at empty ones."""
    return [part for part in re.split(r"\n[ \t]*\n", text.strip("\n")) if part.strip()]


def comment(text, language):
    """Converts a comment: code is indented by four blanks or more, and lists begin with `- `."""
    out = []
    for part in paragraphs(text):
        lines = part.splitlines()
        if all(line.startswith("    ") for line in lines):
            out.append(fenced(textwrap.dedent(part), language))
        elif lines[0].startswith("- "):
            items = re.split(r"^- ", part, flags=re.MULTILINE)[1:]
            out.append("".join(f"- {plain(' '.join(item.split()))}\n" for item in items))
        else:
            out += with_code(lines, language)
    return "\n".join(out)


def with_code(lines, language):
    """Yields a paragraph in which lines that are indented by two blanks or more are code."""
    code, words = [], []
    for line in lines:
        if line.startswith("  ") and line.strip():
            if words:
                yield plain(" ".join(words)) + "\n"
                words = []
            code.append(line)
        else:
            if code:
                yield fenced(textwrap.dedent("\n".join(code)), language)
                code = []
            words.append(line.strip())
    if code:
        yield fenced(textwrap.dedent("\n".join(code)), language)
    if words:
        yield plain(" ".join(words)) + "\n"


SECTION = re.compile(r"(Args|Attributes|Raises|Returns):")


def docstring(text, arguments=()):
    """Converts a docstring: paragraphs, examples that begin with >>>, and sections such as `Args:`.

    A paragraph can also describe arguments one after another: `name: ...`.
    """
    said_of = re.compile(rf"^(?=(?:{'|'.join(arguments) or '(?!)'}): )", re.MULTILINE)
    out, lines = [], text.splitlines()
    while lines:
        if not lines[0].strip():
            lines.pop(0)
        elif SECTION.fullmatch(lines[0]):
            title = lines.pop(0)
            body = taken(lines, lambda line: not line.strip() or line.startswith(" "))
            text = "\n".join(body)
            said = plain(" ".join(text.split())) + "\n" if title == "Returns:" else entries(text)
            out.append(f"**{title}**\n\n{said}")
        elif lines[0].startswith(">>>"):
            out.append(fenced("\n".join(taken(lines, str.strip)), "pycon"))
        elif said_of.match(lines[0]):
            body = "\n".join(taken(lines, is_of_paragraph))
            out.append("".join(map(item, filter(None, said_of.split(body)))))
        else:
            out += with_code(taken(lines, is_of_paragraph), "text")
    return "\n".join(out)


def is_of_paragraph(line):
    return line.strip() and not line.startswith(">>>") and not SECTION.fullmatch(line)


def taken(lines, condition):
    """Removes and returns the first lines that satisfy the condition."""
    out = []
    while lines and condition(lines[0]):
        out.append(lines.pop(0))
    return out


def entries(body):
    """Returns the names and descriptions under `Args:`; continuation lines are indented."""
    items = re.split(r"^(?=\S)", textwrap.dedent(body).strip("\n"), flags=re.MULTILINE)
    return "".join(item(text) for text in items if text.strip())


def item(text):
    name, colon, said = " ".join(text.split()).partition(": ")
    return f"- `{name}`: {plain(said)}\n" if colon else f"- {plain(name)}\n"
