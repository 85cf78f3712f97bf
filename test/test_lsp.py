"""treadle-lsp, spoken to as an editor does: the Language Server Protocol on stdin and stdout."""

import json
import os
import pathlib
import subprocess

import pytest

import treadle

BINARIES = pathlib.Path(treadle.__file__).parents[2] / "bin"
SERVER = pathlib.Path(os.environ.get("TREADLE_BIN", BINARIES / "treadle")).parent / "treadle-lsp"
URI = "file:///graph.mlir"
GRAPH = """tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
  %x, %ctl = Placeholder name("x") {dtype = f32} : () -> (tensor<*xf32>)
  %y, %ctl_0 = Neg(%x) name("y") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
}
"""


class Editor:
    """Sends requests, and reads what comes back until the answer."""

    def __init__(self):
        self.server = subprocess.Popen([SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.next = 0
        self.notes = []

    def send(self, method, params, **more):
        text = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}).encode()
        self.server.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(text), text))
        self.server.stdin.flush()

    def receive(self):
        length = 0
        while (line := self.server.stdout.readline().strip()) or not length:
            assert line, "the server ended"
            key, _, value = line.partition(b":")
            if key.lower() == b"content-length":
                length = int(value)
        return json.loads(self.server.stdout.read(length))

    def ask(self, method, params):
        self.next += 1
        self.send(method, params, id=self.next)
        while (message := self.receive()).get("id") != self.next:
            self.notes.append(message)
        assert "error" not in message
        return message["result"]

    def diagnostics(self, text):
        """Opens a document; what the server says about it."""
        document = {"uri": URI, "languageId": "mlir", "version": 1, "text": text}
        self.send("textDocument/didOpen", {"textDocument": document})
        while not self.notes:
            self.notes.append(self.receive())
        note = self.notes.pop()
        assert note["method"] == "textDocument/publishDiagnostics"
        return note["params"]["diagnostics"]

    def at(self, line, character):
        return {
            "textDocument": {"uri": URI},
            "position": {"line": line, "character": character},
        }


@pytest.fixture
def editor():
    if not SERVER.exists():
        pytest.skip("treadle-lsp wasn't built")
    editor = Editor()
    editor.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
    yield editor
    editor.ask("shutdown", None)
    editor.send("exit", None)
    assert editor.server.wait(20) == 0


def test_a_graph_without_faults_has_no_diagnostics(editor):
    assert editor.diagnostics(GRAPH) == []


def test_diagnostics_say_where(editor):
    (found,) = editor.diagnostics(GRAPH.replace("Neg(%x)", "Neg(%z)"))
    assert "undeclared" in found["message"]
    assert found["range"]["start"]["line"] == 2


def test_the_verifier_speaks_through_diagnostics(editor):
    # Control inputs come after data.
    wrong = GRAPH.replace("Neg(%x)", "Neg(%ctl)")
    assert editor.diagnostics(wrong)


def test_completion_offers_the_dialect_and_values(editor):
    editor.diagnostics(GRAPH.replace("Neg(%x) name", "Neg(% name"))
    line = GRAPH.split("\n")[2]
    done = editor.ask("textDocument/completion", editor.at(2, line.index("%x") + 1))
    assert "x" in {item["label"].lstrip("%") for item in done["items"]}
    editor.notes.clear()
    editor.diagnostics("\n")
    done = editor.ask("textDocument/completion", editor.at(0, 0))
    assert "tfg" in {item["label"] for item in done["items"]}


def test_hover_and_definition_follow_a_value(editor):
    editor.diagnostics(GRAPH)
    column = GRAPH.split("\n")[2].index("%x") + 1
    hover = editor.ask("textDocument/hover", editor.at(2, column))
    assert "Placeholder" in hover["contents"]["value"]
    (place,) = editor.ask("textDocument/definition", editor.at(2, column))
    assert place["range"]["start"]["line"] == 1
