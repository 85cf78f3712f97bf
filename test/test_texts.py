"""Texts: what is no UTF-8, and numbers in a process whose locale writes them with a comma."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import treadle

UNKNOWN = "\ufffd".encode()
PACKAGES = pathlib.Path(treadle.__file__).resolve().parents[1]


def run(op, values, **attrs):
    graph = treadle.Graph.from_bytes(b"")
    graph.add("Placeholder", name="x", attrs={"dtype": "string"})
    graph.add(op, ["x"], name="y", attrs=attrs)
    return treadle.Session(graph).run("y", {"x": values}).tolist()


@pytest.mark.parametrize(
    "text, lower, upper",
    [
        ("Straße ΟΔΟΣ".encode(), "straße οδος".encode(), "STRASSE ΟΔΟΣ".encode()),
        ("İ".encode(), "i̇".encode(), "İ".encode()),
        (b"a\xe0\x81\x81B", b"a" + 3 * UNKNOWN + b"b", b"A" + 3 * UNKNOWN + b"B"),  # overlong
        (b"\xed\xa0\x80", 3 * UNKNOWN, 3 * UNKNOWN),  # half of a pair
        (b"\xf5\x80\x80\x80A", 4 * UNKNOWN + b"a", 4 * UNKNOWN + b"A"),
        (b"\xe2\x82A", UNKNOWN + b"a", UNKNOWN + b"A"),
    ],
)
def test_case(text, lower, upper):
    assert run("StringLower", [text], encoding="utf-8") == [lower]
    assert run("StringUpper", [text], encoding="utf-8") == [upper]


def test_case_of_bytes_is_that_of_ascii():
    assert run("StringLower", ["ÉA".encode() + b"\xc9"]) == ["Éa".encode() + b"\xc9"]


def test_characters_are_counted_in_what_is_no_text_too():
    texts = ["é€".encode(), b"\x80\x80a", b"\xc3a\xff"]
    assert run("StringLength", texts, unit="UTF8_CHAR") == [2, 1, 3]


COMMA = """comment_char %
escape_char /
LC_NUMERIC
decimal_point ","
thousands_sep "."
grouping 3;3
END LC_NUMERIC
"""

PROGRAM = """
import locale
import treadle

locale.setlocale(locale.LC_NUMERIC, "xx_XX")
assert locale.format_string("%.1f", 0.5) == "0,5"
graph = treadle.Graph.from_bytes(b"")
graph.add("Placeholder", name="x", attrs={"dtype": "float32"})
graph.add("Placeholder", name="s", attrs={"dtype": "string"})
graph.add("AsString", ["x"], name="as_string", attrs={"T": "float32", "precision": 2})
graph.add("StringFormat", ["x"], name="format", attrs={"template": "x %s", "placeholder": "%s"})
graph.add("StringToNumber", ["s"], name="number", attrs={"out_type": "float32"})
session = treadle.Session(graph)
print(session.run(["as_string", "format"], {"x": 1.5}), session.run("number", {"s": "2.5"}))
with open("costs.json", "w") as file:
    file.write('{"ops": {"Neg": 0.0015}}')
graph = treadle.Graph.from_bytes(b"")
graph.add("Placeholder", name="x", attrs={"dtype": "float32"})
graph.add("Neg", ["x"], name="y")
print(str(graph.schedule_communication(costs="costs.json")).split(" by")[0])
"""


def test_numbers_do_not_depend_on_the_locale(tmp_path):
    (tmp_path / "comma").write_text(COMMA)
    made = ["localedef", "-c", "-i", str(tmp_path / "comma"), str(tmp_path / "xx_XX")]
    subprocess.run(made, capture_output=True, check=False)  # warns of what else it lacks
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=tmp_path,
        env={**os.environ, "LOCPATH": str(tmp_path), "PYTHONPATH": str(PACKAGES)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    expected = "[array(b'1.50', dtype=object), array(b'x 1.5', dtype=object)] 2.5\n"
    assert done.stdout == expected + "a step takes 1.500 ms\n", done.stderr


def test_files_of_arrays_hold_code_points(tmp_path):
    np.save(tmp_path / "x.npy", np.array(["a\ud800"]))
    graph = treadle.Graph.from_bytes(b"")
    graph.add("Placeholder", name="x", attrs={"dtype": "string"})
    graph.to_file(tmp_path / "g.pb")
    binary = os.environ.get("TREADLE_BIN") or PACKAGES.parent / "bin" / "treadle"
    command = [binary, "run", tmp_path / "g.pb", "--fetch", "x:0", "--input", "x:0=@x.npy"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert (
        "'x.npy': npy file: a string holds 55296, which is not a Unicode code point" in done.stderr
    )
