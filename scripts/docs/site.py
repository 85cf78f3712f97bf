"""Writes the pages of the site: those of the project, and the reference."""

import re
import shutil

from . import c_api, commands, cpp_api, dialects, ops, pages, python_api

REFERENCE = [
    "reference/commands",
    *(f"reference/python{m}" for m in ("", *(f"-{module}" for module in python_api.MODULES))),
    "reference/c",
    "reference/cpp",
    "reference/ops/index",
    *(f"reference/{name}" for name in dialects.TITLES),
]


def read_on(readme):
    """Returns the pages that the README lists under `Documentation`: titles and pages by group."""
    text = readme.split("\n## Documentation\n")[1].split("\n## ")[0]
    parts = re.split(r"^([A-Z]\w*):\n", text, flags=re.MULTILINE)
    groups = {}
    for caption, items in zip(parts[1::2], parts[2::2], strict=True):
        heads = "\n".join(re.findall(r"^- (.*?\)):", items, re.MULTILINE))
        found = re.findall(r"\[(.+?)\]\(([^)#]+)\)", heads)
        groups[caption] = [(title, pages.place(path).removesuffix(".md")) for title, path in found]
    return groups


def toctree(caption, entries):
    lines = "\n".join(f"{title} <{page}>" if title else page for title, page in entries)
    return f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{lines}\n```\n"


def first_page(site):
    readme = (pages.ROOT / "README.md").read_text()
    text = site.with_links("README.md", readme)
    groups = read_on(readme)
    last = groups.popitem()
    for caption, entries in groups.items():
        text += toctree(caption, entries)
    text += toctree("Reference", [("", page) for page in REFERENCE])
    return text + toctree(*last)


def decisions(site):
    path = "docs/decisions/README.md"
    names = sorted(file.stem for file in (pages.ROOT / "docs/decisions").glob("0*.md"))
    text = site.with_links(path, (pages.ROOT / path).read_text())
    return text + "\n```{toctree}\n:hidden:\n\n" + "\n".join(names) + "\n```\n"


def write_reference(site, build, package):
    site.write("reference/commands.md", commands.page(build / "bin" / "treadle"))
    for name, text in python_api.pages(pages.ROOT, package):
        site.write(f"reference/{name}.md", text)
    site.write("reference/c.md", c_api.page((pages.ROOT / "treadle/c.h").read_text()))
    site.write("reference/cpp.md", cpp_api.page(pages.ROOT))
    for name, text in ops.pages(build / "docs" / "ops.tsv"):
        site.write(f"reference/{name}.md", text)
    for name, text in dialects.pages(build / "docs"):
        site.write(f"reference/{name}.md", text)


def write(build, out, package):
    """Writes the Markdown files from which Sphinx builds the site to the folder `out`."""
    shutil.rmtree(out, ignore_errors=True)
    site = pages.Site(out)
    site.write("index.md", first_page(site))
    for path in ("CONTRIBUTING.md", "CHANGELOG.md"):
        site.copy(path)
    for path in sorted((pages.ROOT / "docs").rglob("*.md")):
        site.copy(str(path.relative_to(pages.ROOT)))
    site.write("decisions/index.md", decisions(site))
    write_reference(site, build, package)
    site.write_sources()
