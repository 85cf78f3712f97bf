"""The reference of dialects and passes: what mlir-tblgen wrote, as pages of the site."""

import re

TITLES = {
    "passes": "Passes",
    "tfg": "The dialect tfg",
    "tfg_regions": "The dialect tfg: nodes with regions",
    "tf_type": "The dialect tf_type",
    "tf_executor": "The dialect tf_executor",
}


def page(name, text):
    """The page with its title, and with headings below it that skip no level."""
    text = re.sub(r"^<!--.*-->\n|^\[TOC\]\n|^# .*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"^(#+) (.*?):?$", r"\1 \2", text, flags=re.MULTILINE)
    if name == "passes":
        text = re.sub(r"^##(#+ )", r"#\1", text, flags=re.MULTILINE)
        text = re.sub(r"^## `-(.*)`$", r"## \1", text, flags=re.MULTILINE)
    return f"# {TITLES[name]}\n{text}"


def pages(folder):
    for name in TITLES:
        yield name, page(name, (folder / f"{name}.md").read_text())
