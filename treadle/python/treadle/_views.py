"""The values of Node.inputs and Node.attrs: they read the current node, and their edits edit it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping, MutableSequence
from typing import TYPE_CHECKING, Any

from ._errors import NotFoundError

if TYPE_CHECKING:
    from ._graph import Node


class Inputs(MutableSequence[str]):
    """The inputs of a node: data (`x:0`), then control (`^x`). Changes rewire the node."""

    __slots__ = ("_node",)
    __hash__ = None

    def __init__(self, node: Node) -> None:
        self._node = node

    def _names(self) -> list[str]:
        return self._node._graph._inputs(self._node._name)

    def _edit(self, method: str, *args: Any) -> None:
        names = self._names()
        getattr(names, method)(*args)
        self._node.inputs = names

    def __len__(self) -> int:
        return len(self._names())

    # MutableSequence would get each element from a list of its own.
    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._names())

    def index(self, value: str, *bounds: int) -> int:
        return self._names().index(value, *bounds)

    def __getitem__(self, index: Any) -> Any:
        return self._names()[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        self._edit("__setitem__", index, value)

    def __delitem__(self, index: Any) -> None:
        self._edit("__delitem__", index)

    def insert(self, index: int, value: str | Node) -> None:
        self._edit("insert", index, value)

    # Set all inputs at once: an intermediate state may be an invalid graph.
    def extend(self, values: Iterable[str | Node]) -> None:
        self._edit("extend", values)

    def clear(self) -> None:
        self._edit("clear")

    def reverse(self) -> None:
        self._edit("reverse")

    def __iadd__(self, values: Iterable[str | Node]) -> Inputs:
        self.extend(values)
        return self

    def copy(self) -> list[str]:
        return self._names()

    def __add__(self, other: list[str]) -> list[str]:
        return self._names() + list(other)

    def __eq__(self, other: object) -> bool:
        return self._names() == (other._names() if isinstance(other, Inputs) else other)

    def __repr__(self) -> str:
        return repr(self._names())


class Attrs(MutableMapping[str, Any]):
    """The attributes of a node by name. Changes act like Node.set_attr and remove_attr."""

    __slots__ = ("_node",)
    __hash__ = None

    def __init__(self, node: Node) -> None:
        self._node = node

    def copy(self) -> dict[str, Any]:
        attrs = self._node._graph._attrs(self._node._name)
        return {key: _kept(value, self._node, key) for key, value in attrs.items()}

    def __getitem__(self, key: str) -> Any:
        return self.copy()[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self._node.set_attr(key, value)

    def __delitem__(self, key: str) -> None:
        if key not in self:
            raise NotFoundError(f"node '{self._node._name}' has no attribute '{key}'")
        self._node.remove_attr(key)

    def __iter__(self) -> Iterator[str]:
        return iter(self.copy())

    def __len__(self) -> int:
        return len(self.copy())

    def __or__(self, other: Mapping[str, Any]) -> dict[str, Any]:
        return self.copy() | dict(other)

    def __repr__(self) -> str:
        return repr(self.copy())


class ListAttr(list):
    """A list that is the value of an attribute. Element changes raise a TypeError with advice."""

    __slots__ = ("_where",)

    def _refuse(self, *args: Any, **options: Any) -> Any:
        node, key = self._where
        raise TypeError(
            f"attribute '{key}' of node '{node}' can't be changed element by element; set the "
            f"whole list: attrs['{key}'] = [...]"
        )

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = extend = insert = pop = remove = clear = sort = reverse = _refuse


def _kept(value: Any, node: Node, key: str) -> Any:
    if not isinstance(value, list):
        return value
    kept = ListAttr(value)
    kept._where = (node._name, key)
    return kept
