"""Writes the reference of the C++ interface from the comments of the public headers."""

import re

from .prose import comment, fenced

# The headers that readers look for come first, then the headers that these include.
HEADERS = [
    f"treadle/{name}.h"
    for name in """treadle Graph Session Permissions Sandbox Model Builder Gradients Freeze Check
    Explain Explore Profile CodeProfile Summary View Schedule Compile tensor/DType tensor/Tensor
    tensor/Attr tensor/Error runtime/Kernel runtime/OpTraits runtime/Modes""".split()
]


def intro(text):
    """Returns the comment at the start of a header."""
    lines = re.match(r"(?://.*\n)*", text)[0].splitlines()
    return "\n".join(line.removeprefix("//").removeprefix(" ") for line in lines)


def readable(text):
    """Returns a header without its internals, and with macros expanded or without their bodies."""
    text = re.sub(
        r"^(///[^\n]*\n)*namespace detail \{\n.*?^\}[^\n]*\n", "", text, flags=re.M | re.DOTALL
    )
    text = re.sub(r"^static_assert\([^;]*;\n", "", text, flags=re.MULTILINE)
    text = re.sub(
        r"^(#define \w+\([^)]*\)) *(?:\\\n.*?)+(?<!\\)\n", r"\1\n", text, flags=re.MULTILINE
    )
    made = r"template <typename... Args> Error \1(const Args &...args);"
    return re.sub(r"^TREADLE_ERROR_MAKER\((\w+), \w+\)$", made, text, flags=re.MULTILINE)


def declarations(text):
    """Yields pairs of a `///` comment and a declaration, for declarations in namespaces."""
    said, place = [], 0
    lines = readable(text).splitlines()
    while place < len(lines):
        line = lines[place]
        if line.startswith("///"):
            said.append(line.removeprefix("///").removeprefix(" "))
            place += 1
        elif line.startswith("#define") and said:
            yield "\n".join(said), line
            said, place = [], place + 1
        elif is_between(line):
            said, place = [], place + 1
        else:
            end = end_of_declaration(lines, place)
            yield "\n".join(said), "\n".join(lines[place:end])
            said, place = [], end


def is_between(line):
    return not line.strip() or line.startswith(("#", "//", "namespace", "}", "using namespace"))


def end_of_declaration(lines, place):
    """Returns the line after the declaration, which closes its brackets and ends in `;` or `}`."""
    depth = 0
    for i in range(place, len(lines)):
        code = re.sub(r"//.*|'.'|\"[^\"]*\"", "", lines[i])
        depth += sum(code.count(b) for b in "{(") - sum(code.count(b) for b in "})")
        if depth == 0 and code.rstrip().endswith((";", "}")):
            return i + 1
    raise ValueError(f"a declaration doesn't end: {lines[place]!r}")


def name_of(declaration):
    """Returns the name of a class, type, constant or function; None for a forward declaration."""
    head = re.sub(r"^template <.*?>\s+", "", declaration.split("{")[0].replace("\n", " "))
    if found := re.match(r"(?:enum class|class|struct)\s+(\w+)", head):
        return found[1] if "{" in declaration else None
    if declaration.startswith("#define"):
        return re.match(r"#define (\w+)", declaration)[1]
    if found := re.match(r"using (?:\w+::)*(\w+)", head):
        return found[1]
    if found := re.search(r"(operator\s*\S+?|\w+)\s*\(", head):
        return found[1]
    found = re.search(r"(\w+)\s*(?:\[\]\s*)?(?:=|;|$)", head)
    return found[1] if found else None


def without_private(declaration):
    """Returns a class without its private members."""
    text = re.sub(r"^ +(struct Impl;|.* impl; // internal)\n", "", declaration, flags=re.MULTILINE)
    text = re.sub(r"^private:\n.*?(?=^(?:public:|\};))", "", text, flags=re.M | re.DOTALL)
    return re.sub(r"\n+(?=\};)", "\n", text)


def section(header, text):
    out = [f"## {header}\n", comment(intro(text), "cpp")]
    last = None
    for said, declaration in declarations(text[text.index("namespace treadle") :]):
        name = name_of(declaration)
        if not name:
            continue
        shown = fenced(without_private(declaration), "cpp")
        if name == last:  # an overload
            out += [comment(said, "cpp"), shown]
        else:
            out += [f"### {name}\n", comment(said, "cpp"), shown]
        last = name
    return "\n".join(out)


def page(root):
    return "\n".join(
        [
            "# C++ API\n",
            "Include `treadle/treadle.h`, which includes most of these headers, and the others as "
            "needed. All names are in the namespace `treadle`.\n",
            *(section(header, (root / header).read_text()) for header in HEADERS),
        ]
    )
