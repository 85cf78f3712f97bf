#!/usr/bin/env python3
"""Sums up the JUnit reports that ./dev test collects, and prints the failures.

tally.py RESULTS STAGE...      RESULTS/STAGE holds ctest.xml and gtest/*.xml, lit.xml or pytest.xml

A gtest program counts as its test cases; any other ctest entry, and a program that fails though
none of its cases did (a crash, a leak found at exit), counts as one. The last line is
'N passed, N failed, N skipped'.
"""

import collections
import pathlib
import sys
import xml.etree.ElementTree as ElementTree

LONGEST_MESSAGE = 4000


def cases(report):
    """Yields (name, outcome, message) of each test case in a JUnit file."""
    for case in ElementTree.parse(report).iter("testcase"):
        name = f"{case.get('classname', '')}.{case.get('name')}"
        bad = [e for tag in ("failure", "error") for e in case.findall(tag)]
        if bad:
            text = "\n".join((e.text or e.get("message") or "") for e in bad)
            yield name, "failed", text or case.findtext("system-out", "")
        elif case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
            yield name, "skipped", ""
        else:
            yield name, "passed", ""


def gtest_cases(folder):
    """Returns the cases by program; ignores reports that a crash has truncated."""
    programs = {}
    for report in folder.glob("*.xml"):
        try:
            programs[report.stem] = list(cases(report))
        except ElementTree.ParseError:
            pass
    return programs


def ctest_cases(stage):
    programs = gtest_cases(stage / "gtest")
    for entry in ElementTree.parse(stage / "ctest.xml").iter("testcase"):
        own = programs.get(entry.get("name"), [])
        yield from own
        failed = entry.get("status") == "fail"
        if failed and not any(outcome == "failed" for _, outcome, _ in own):
            yield entry.get("name"), "failed", entry.findtext("system-out", "")
        elif not own:
            skipped = entry.get("status") != "run"
            yield entry.get("name"), "skipped" if skipped else "passed", ""


def stage_cases(stage):
    if (stage / "broken").exists():
        yield "build", "failed", (stage / "broken").read_text()
    for report in stage.glob("*.xml"):
        yield from ctest_cases(stage) if report.name == "ctest.xml" else cases(report)


def shortened(text):
    text = text.strip()
    if len(text) <= LONGEST_MESSAGE:
        return text
    return "...\n" + text[-LONGEST_MESSAGE:]


def main(results, stages):
    total = collections.Counter()
    for name in stages:
        count = collections.Counter()
        for case, outcome, message in stage_cases(results / name):
            count[outcome] += 1
            if outcome == "failed":
                print(f"FAILED {name}: {case}\n{shortened(message)}\n")
        total += count
        if count:
            print(f"{name}: " + line(count))
        else:
            print(f"{name}: no tests")
    print(line(total))
    return 1 if total["failed"] or not total["passed"] else 0


def line(count):
    return f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped"


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]), sys.argv[2:]))
