#!/usr/bin/env python3
"""Runs clang-tidy on the project's sources, except on those that were clean before.

tidy.py BUILD [--jobs N] [FILE...]      BUILD holds compile_commands.json

Sources that BUILD compiles in batches (unity builds) are checked one by one.

A source remains clean until it changes, or a header of the project that it includes, its command or
.clang-tidy.
"""

import argparse
import concurrent.futures
import hashlib
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(rb'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def tracked():
    listed = subprocess.run(
        ["git", "-C", ROOT, "ls-files", "-z", "*.cpp"], stdout=subprocess.PIPE, check=True
    )
    return {str(ROOT / name) for name in listed.stdout.decode().split("\0") if name}


def add_with_headers(path, found, build):
    """Collects the contents of the file and of the project's headers that it includes."""
    if path in found:
        return
    found[path] = content = path.read_bytes()
    for name in INCLUDE.findall(content):
        for folder in (path.parent, ROOT, build):
            header = folder / name.decode()
            if header.is_file():
                add_with_headers(header, found, build)
                break


def key(entry, build):
    found = {}
    add_with_headers(pathlib.Path(entry["file"]), found, build)
    digest = hashlib.sha256((ROOT / ".clang-tidy").read_bytes() + entry["command"].encode())
    for path in sorted(found):
        digest.update(found[path])
    return digest.hexdigest()


def one_by_one(commands):
    """Yields the commands for the sources of a batch instead of the batch's own."""
    for entry in commands:
        batch = pathlib.Path(entry["file"])
        if batch.parent.name != "Unity":
            yield entry
            continue
        for name in INCLUDE.findall(batch.read_bytes()):
            source = name.decode()
            yield {**entry, "file": source, "command": entry["command"].replace(str(batch), source)}


def check(source, commands):
    done = subprocess.run(
        ["clang-tidy-22", "--quiet", "-p", commands, "--warnings-as-errors=*", source],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    return done.returncode == 0, done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build", type=lambda p: pathlib.Path(p).resolve())
    parser.add_argument("files", nargs="*")
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_intermixed_args()

    wanted = {str(pathlib.Path(f).resolve()) for f in args.files} or tracked()
    batches = json.loads((args.build / "compile_commands.json").read_text())
    commands = list(one_by_one(batches))
    clean = args.build.parent / "tidy"
    clean.mkdir(exist_ok=True)
    (clean / "compile_commands.json").write_text(json.dumps(commands))
    stale = {}
    for entry in commands:
        mark = clean / key(entry, args.build) if entry["file"] in wanted else None
        if mark and not mark.exists():
            stale[entry["file"]] = mark

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        answers = pool.map(lambda source: check(source, clean), stale)
        for (source, mark), (ok, text) in zip(stale.items(), answers, strict=True):
            if ok:
                mark.touch()
            else:
                failed += 1
                print(text or f"{source}: clang-tidy failed", flush=True)
    print(f"{len(stale)} sources checked, {failed} with findings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
