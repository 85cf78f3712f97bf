"""Checks a built site for broken links and for parts that are loaded from the network.

python scripts/docs/check.py SITE
"""

import html.parser
import pathlib
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.anchors, self.links, self.parts = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.anchors |= {given[key] for key in ("id", "name") if given.get(key)}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        for key in ("src", "href"):
            if given.get(key) and (key == "src" or (tag == "link" and is_loaded(given))):
                self.parts.append(given[key])

    handle_startendtag = handle_starttag


def is_loaded(link):
    return not {"canonical", "next", "prev", "index", "search"} & set(link.get("rel", "").split())


def is_remote(address):
    return bool(urllib.parse.urlsplit(address).netloc)


def wrong_link(path, address, pages):
    """Returns why a link of the page is broken; empty if it works, or leaves the site."""
    parts = urllib.parse.urlsplit(address)
    if parts.scheme or parts.netloc:
        return None
    target = path
    if parts.path:
        target = (path.parent / urllib.parse.unquote(parts.path)).resolve()
    if not target.is_file():
        return f"'{address}' is no file of the site"
    anchor = urllib.parse.unquote(parts.fragment)
    if anchor and target in pages and anchor not in pages[target].anchors:
        return f"'{address}' names a heading that isn't there"
    return None


def problems(site):
    pages = {path.resolve(): Page(path.read_text()) for path in sorted(site.rglob("*.html"))}
    if not pages:
        yield f"{site}: there are no pages"
    for path, page in pages.items():
        name = path.relative_to(site.resolve())
        for address in page.links:
            if why := wrong_link(path, address, pages):
                yield f"{name}: {why}"
        for address in page.parts:
            if is_remote(address):
                yield f"{name}: '{address}' would come from the network"
            elif why := wrong_link(path, address, {}):
                yield f"{name}: {why}"


if __name__ == "__main__":
    found = list(problems(pathlib.Path(sys.argv[1])))
    print("\n".join(found))
    sys.exit(bool(found))
