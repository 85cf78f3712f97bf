"""Writes the reference of the C interface from the comments of treadle/c.h."""

import re

from .prose import comment, fenced

SECTION = re.compile(r"/\* -+ (.+?) -+\n? *\*/")
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def lines_of(text):
    """Returns the lines of a comment without its markers and indentation."""
    inner = text.removeprefix("/*").removesuffix("*/").strip()
    return re.sub(r"^   ", "", inner, flags=re.MULTILINE)


def intro(header):
    return COMMENT.match(header)[0]


def declarations(text):
    """Yields pairs of a comment, which may be empty, and a declaration, or None for a section."""
    said, place = "", 0
    while match := re.compile(r"\s*").match(text, place):
        place = match.end()
        if place == len(text):
            return
        if found := SECTION.match(text, place):
            yield found[1].strip(), None
            said, place = "", found.end()
        elif found := COMMENT.match(text, place):
            said, place = found[0], found.end()
        elif text[place] in "#}":
            found = re.compile(r"(?:.*\\\n)*.*").match(text, place)
            if found[0].startswith("#define TREADLE_OPTIONS"):
                yield said, re.sub(r" *\\\n *", " ", found[0])
            if not found[0].startswith("#ifndef") and not found[0].startswith("#define TREADLE_DT"):
                said = ""
            place = found.end()
        else:
            end = end_of_declaration(text, place)
            # A comment behind the declaration on its line describes it.
            tail = re.compile(r"[ ]*(/\*[^\n]*\*/)?").match(text, end)
            yield said or (tail[1] or ""), text[place:end]
            said, place = "", tail.end()


def end_of_declaration(text, place):
    depth, comments = 0, [found.span() for found in COMMENT.finditer(text, place)]
    for i in range(place, len(text)):
        if any(begin <= i < end for begin, end in comments[:50]):
            continue
        depth += (text[i] == "{") - (text[i] == "}")
        if text[i] == ";" and not depth:
            return i + 1
    raise ValueError(f"a declaration doesn't end: {text[place : place + 60]!r}")


def name_of(declaration):
    if declaration.startswith("#define"):
        return declaration.split()[1]
    if found := re.match(r"typedef void \(\*(\w+)\)", declaration):
        return found[1]
    if declaration.startswith(("typedef", "enum")):
        return re.findall(
            r"\b(treadle_\w+)\b", re.sub(r"\{.*\}", "", declaration, flags=re.DOTALL)
        )[-1]
    return re.search(r"\b(\w+)\(", declaration)[1]


def page(header):
    body = header[header.index('extern "C" {\n#endif') + len('extern "C" {\n#endif') :]
    out = ["# C API\n", comment(lines_of(intro(header)), "c"), "## Version\n"]
    for said, declaration in declarations(body):
        if declaration is None:
            out.append(f"## {said.capitalize()}\n")
            continue
        out.append(f"### {name_of(declaration)}\n")
        out.append(fenced(re.sub(r"^TREADLE_API ", "", declaration), "c"))
        if said:
            out.append(comment(lines_of(said), "c"))
    return "\n".join(out)


def names(header):
    body = header[header.index('extern "C" {') :]
    return [name_of(d) for _, d in declarations(body[body.index("#endif") + 6 :]) if d]
