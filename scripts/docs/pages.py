"""Converts pages of the project to pages of the site.

A page keeps its text. Its links to source files lead to pages that show these files, so the site is
self-contained.
"""

import os
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]

PLACES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changes.md",
    "docs/decisions": "decisions/index.md",
    "docs/decisions/README.md": "decisions/index.md",
}
PICTURES = (".svg", ".png")
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
LANGUAGES = {
    ".c": "c",
    ".h": "c",
    ".cpp": "cpp",
    ".go": "go",
    ".js": "javascript",
    ".json": "json",
    ".mlir": "mlir",
    ".py": "python",
    ".rs": "rust",
}


def place(path):
    """Returns the path in the site of a file or folder of the project."""
    if path in PLACES:
        return PLACES[path]
    if path.startswith("docs/") and path.endswith((".md", *PICTURES)):
        return path.removeprefix("docs/")
    return f"sources/{path}/index.md" if (ROOT / path).is_dir() else f"sources/{path}.md"


def pieces(text):
    """Yields the pieces of the text: whether each is fenced code, and its lines."""
    fence, lines = "", []
    for line in text.splitlines(keepends=True):
        mark = re.match(r" *(`{3,})", line)
        if fence and line.strip() == fence:
            yield True, "".join([*lines, line])
            fence, lines = "", []
        elif mark and not fence:
            yield False, "".join(lines)
            fence, lines = mark[1], [line]
        else:
            lines.append(line)
    yield bool(fence), "".join(lines)


def links(text):
    """Yields the targets of the page's links: `](...)` outside of code."""
    for is_code, piece in pieces(text):
        if not is_code:
            yield from (found[2] for found in LINK.finditer(re.sub(r"`[^`\n]*`", "", piece)))


def leads_out(link):
    return "://" in link or link.startswith("mailto:")


class Site:
    """A folder of pages that is being written."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.sources = set()  # files and folders of the project that some page links to

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def copy(self, path):
        """Copies a page of the project, given by its path from the root."""
        self.write(place(path), self.with_links(path, (ROOT / path).read_text()))

    def with_links(self, path, text):
        """Returns a page's text whose links, relative to `path`, are replaced by the site's."""

        def moved(found):
            link, _, anchor = found[2].partition("#")
            if leads_out(found[2]) or not link:
                return found[0]
            target = os.path.normpath(os.path.join(os.path.dirname(path), link))
            new = os.path.relpath(self.target(target), os.path.dirname(place(path)) or ".")
            return found[1] + new + ("#" + anchor if anchor else "") + found[3]

        return "".join(
            piece if is_code else LINK.sub(moved, piece) for is_code, piece in pieces(text)
        )

    def target(self, path):
        new = place(path)
        if new.startswith("sources/") or new.endswith(PICTURES):
            self.sources.add(path)
        return new

    def write_sources(self):
        """Writes a page for each file and folder that pages link to, and for their contents."""
        waiting, written = sorted(self.sources), set()
        while waiting:
            path = waiting.pop()
            if path in written:
                continue
            written.add(path)
            if path.endswith(PICTURES):
                target = self.folder / place(path)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes((ROOT / path).read_bytes())
            elif (ROOT / path).is_dir():
                waiting += self.write_folder(path)
            else:
                self.write_file(path)

    def write_folder(self, path):
        names = sorted(entry.name for entry in (ROOT / path).iterdir() if is_shown(entry))
        lines = [f"- [{name}]({relative(f'{path}/{name}', path)})" for name in names]
        self.write(place(path), f"---\norphan: true\n---\n\n# {path}\n\n" + "\n".join(lines) + "\n")
        return [f"{path}/{name}" for name in names]

    def write_file(self, path):
        text = (ROOT / path).read_text()
        fence = "`" * (1 + max([2, *(len(run) for run in re.findall("`+", text))]))
        language = LANGUAGES.get(pathlib.Path(path).suffix, "text")
        self.write(
            place(path),
            f"---\norphan: true\n---\n\n# {path}\n\n{fence}{language}\n{text.rstrip()}\n{fence}\n",
        )


def relative(path, folder):
    return os.path.relpath(place(path), os.path.dirname(place(folder)))


def is_shown(entry):
    """Whether a file of a folder is shown: a text file that no build has generated."""
    if entry.name.startswith(".") or entry.name in ("build", "node_modules", "__pycache__"):
        return False
    if entry.is_dir():
        return any(is_shown(inner) for inner in entry.iterdir())
    with entry.open("rb") as file:
        start = file.read(100_000)
    return len(start) < 100_000 and is_text(start)


def is_text(data):
    try:
        return "\0" not in data.decode()
    except UnicodeDecodeError:
        return False
