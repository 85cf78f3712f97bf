"""Writes the reference of the command line from the output of `treadle --help`."""

import re
import subprocess

from .prose import cell, fenced, plain


def help_of(program, *command):
    done = subprocess.run([program, *command, "--help"], check=True, capture_output=True, text=True)
    return done.stdout


def commands(text):
    """Returns the commands that `treadle --help` lists, with their summaries."""
    return dict(re.findall(r"^  ([a-z]\w*) +(\S.*)$", text.split("\n\n")[1], re.MULTILINE))


OPTION = re.compile(r"^  (-\S.*?)(?:  +(\S.*))?$", re.MULTILINE)


def section(name, text):
    usage, rest = text.split("\n", 1)
    before, options, after = split_at_options(rest)
    out = [f"## treadle {name}\n", fenced(usage.removeprefix("usage: "), "text")]
    out += [plain(" ".join(part.split())) + "\n" for part in before.split("\n\n") if part.strip()]
    if options:
        out.append("| option | |\n| --- | --- |\n" + "".join(map(row, OPTION.finditer(options))))
    if after.strip():
        out.append(fenced(after.strip("\n"), "console"))
    return "\n".join(out)


def split_at_options(text):
    found = list(OPTION.finditer(text))
    if not found:
        return text, "", ""
    begin, end = found[0].start(), found[-1].end()
    return text[:begin], text[begin:end], text[end:]


def row(option):
    words = option[1].replace("|", "\\|")
    return f"| `{words}` | {cell(option[2] or '')} |\n"


def page(program):
    text = help_of(program)
    first, _, rest = text.partition("\n\n")
    _, _, after = rest.partition("\n\n")
    names = commands(text)
    lines = [f"- [{name}](#treadle-{name}): {plain(said)}\n" for name, said in names.items()]
    return "\n".join(
        [
            "# The command line\n",
            fenced(first.removeprefix("usage: ")),
            "".join(lines),
            fenced(after),
            *(section(name, help_of(program, name)) for name in names),
        ]
    )
