"""Writes the reference of dialects and passes from the output of mlir-tblgen."""

import re

TITLES = {
    "passes": "Passes",
    "tfg": "The dialect tfg",
    "tfg_regions": "The dialect tfg: region control flow",
    "tf_type": "The dialect tf_type",
    "tf_executor": "The dialect tf_executor",
}


def page(name, text):
    """Returns the page with a title, and with headings that skip no level."""
    text = re.sub(r"^<!--.*-->\n|^\[TOC\]\n|^# .*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"^(#+) (.*?):?$", r"\1 \2", text, flags=re.MULTILINE)
    if name == "passes":
        text = re.sub(r"^##(#+ )", r"#\1", text, flags=re.MULTILINE)
        text = re.sub(r"^## `-(.*)`$", r"## \1", text, flags=re.MULTILINE)
    return f"# {TITLES[name]}\n{text}"


def pages(folder):
    for name in TITLES:
        yield name, page(name, (folder / f"{name}.md").read_text())
