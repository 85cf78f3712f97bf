"""Patterns of nodes: `Relu(BiasAdd(MatMul(x, w), b))`. Graph.replace describes the syntax."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._graph import Node
    from ._native import Graph

_TOKEN = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_>]*|\d+|\.\.\.|[()=|,:]|\{[^}]*\})")


@dataclass
class _Variable:
    name: str


@dataclass
class _Call:
    ops: list[str]
    args: list[_Variable | _Call] | None  # any if None
    name: str = ""
    output: int = 0
    attrs: dict[str, Any] = field(default_factory=dict)


class Match:
    """The captures of a match: match["x"] is the name of a value, match["mm"] a Node
    (`mm=MatMul(...)`)."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._kept: dict[str, Any] = {}
        self._names: list[str] = []

    @property
    def root(self) -> Node:
        return self.nodes[0]

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The matched nodes, the root first."""
        return tuple(self.graph.node(name) for name in self._names)

    def __getitem__(self, name: str) -> Any:
        if name not in self._kept:
            raise KeyError(
                f"the pattern captures nothing as '{name}'; it captures {list(self._kept)}"
            )
        return self._kept[name]


class Pattern:
    """A parsed pattern; ValueError, with the position, if it is malformed."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[tuple[str, int]] = []
        place = 0
        while text[place:].strip():
            if not (token := _TOKEN.match(text, place)):
                raise self._wrong(place, "expected an op, a word or one of ( ) = | , : {")
            self._tokens.append((token[1], token.start(1)))
            place = token.end()
        self._next = 0
        root = self._read()
        if self._next < len(self._tokens):
            raise self._wrong(self._tokens[self._next][1], "expected the end")
        if not isinstance(root, _Call):
            raise self._wrong(0, "expected an op: 'Op(...)'")
        if root.output:
            raise self._wrong(0, "the root matches all of its outputs; expected none listed")
        self._root = root

    @property
    def root_ops(self) -> list[str]:
        return self._root.ops

    def match(self, graph: Graph, name: str) -> Match | None:
        """Returns the match whose root is the node with this name, or None."""
        match = Match(graph)
        return match if _matches(self._root, graph, f"{name}:0", match) else None

    def _wrong(self, place: int, why: str) -> ValueError:
        return ValueError(f"pattern '{self._text}', at character {place}: {why}")

    def _peek(self, ahead: int = 0) -> str:
        place = self._next + ahead
        return self._tokens[place][0] if place < len(self._tokens) else ""

    def _take(self, expected: str = "") -> str:
        token = self._peek()
        if not token or (expected and token != expected):
            place = self._tokens[self._next][1] if token else len(self._text)
            raise self._wrong(place, f"expected {expected or 'an op or a word'}")
        self._next += 1
        return token

    def _word(self) -> str:
        if not re.match(r"[A-Za-z_]", self._peek() or " "):
            self._take("an op or a word")
        return self._take()

    def _read(self) -> _Variable | _Call:
        word, name = self._word(), ""
        if self._peek() == "=":
            self._take()
            name, word = word, self._word()
        ops = [word]
        while self._peek() == "|":
            self._take()
            ops.append(self._word())
        if self._peek() != "(":
            if name or len(ops) > 1:
                self._take("(")
            return _Variable(word)
        self._take("(")
        call = _Call(ops, [], name)
        if self._peek() == "...":
            self._take()
            call.args = None
        else:
            while self._peek() != ")":
                call.args.append(self._read())
                if self._peek() != ")":
                    self._take(",")
        self._take(")")
        if self._peek().startswith("{"):
            call.attrs = self._read_attrs()
        if self._peek() == ":":
            self._take()
            if not self._peek().isdigit():
                self._take("a number")
            call.output = int(self._take())
        return call

    def _read_attrs(self) -> dict[str, Any]:
        text, place = self._tokens[self._next]
        self._next += 1
        quoted = re.sub(r"([A-Za-z_]\w*)\s*:", r"'\1':", text)
        try:
            return ast.literal_eval(quoted)
        except (ValueError, SyntaxError):
            raise self._wrong(place, "expected {name: value, ...}") from None


def _matches(pattern: _Variable | _Call, graph: Graph, value: str, match: Match) -> bool:
    if isinstance(pattern, _Variable):
        return pattern.name == "_" or match._kept.setdefault(pattern.name, value) == value
    name, _, output = value.partition(":")
    if int(output or 0) != pattern.output or graph._op(name) not in pattern.ops:
        return False
    if pattern.attrs:
        attrs = graph._attrs(name)
        if any(attrs.get(key) != wanted for key, wanted in pattern.attrs.items()):
            return False
    if name not in match._names:
        match._names.append(name)
    if pattern.name:
        node = graph.node(name)
        if match._kept.setdefault(pattern.name, node) != node:
            return False
    if pattern.args is None:
        return True
    data = [i for i in graph._inputs(name) if not i.startswith("^")]
    return len(data) == len(pattern.args) and all(
        _matches(arg, graph, i, match) for arg, i in zip(pattern.args, data, strict=True)
    )
