"""Builds the page of `treadle view`: build_page.py SOURCES WORK PAGE.

Copies the sources to a folder of their own, where npm installs what package-lock.json names and
bundles all of it into one file; PAGE is that file, packed, equal for equal sources.
"""

import gzip
import os
import pathlib
import shutil
import subprocess
import sys


def main():
    sources, work, page = (pathlib.Path(argument) for argument in sys.argv[1:])
    npm = [os.environ["NPM"], "--prefix", work]
    lock = (sources / "package-lock.json").read_bytes()
    stamp = work / "node_modules" / "made-from"
    for name in ("src", "styles", "dist"):
        shutil.rmtree(work / name, ignore_errors=True)
    ignored = shutil.ignore_patterns("node_modules", "dist")
    shutil.copytree(sources, work, ignore=ignored, dirs_exist_ok=True)
    if not stamp.exists() or stamp.read_bytes() != lock:
        # No install scripts of packages are needed.
        options = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
        subprocess.run([*npm, "ci", *options], check=True, cwd=work)
        stamp.write_bytes(lock)
    subprocess.run([*npm, "run", "--silent", "build"], check=True, cwd=work)
    made = (work / "dist" / "page.html").read_bytes()
    if made.count(b'[["treadle-sections"]]') != 1:
        sys.exit(f"{work}/dist/page.html has no place for what it shows")
    page.write_bytes(gzip.compress(made, 9, mtime=0))


if __name__ == "__main__":
    main()
