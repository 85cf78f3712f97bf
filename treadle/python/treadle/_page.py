"""Pages that show graphs."""

from __future__ import annotations

import html
import os
import pathlib


class Page:
    """A self-contained HTML page that shows a graph; it loads nothing else."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page to a file, to be opened in a browser."""
        pathlib.Path(path).write_bytes(self.content)

    def __repr__(self) -> str:
        return f"<treadle.Page: {len(self.content)} bytes; save(path) writes it>"

    def _repr_html_(self) -> str:
        # In a sandboxed frame: the graph may be untrusted.
        style = "width: 100%; height: 640px; border: 1px solid #8884; border-radius: 6px"
        return (
            f'<iframe sandbox="allow-scripts allow-downloads" style="{style}" '
            f'title="graph" srcdoc="{html.escape(self.content.decode())}"></iframe>'
        )
