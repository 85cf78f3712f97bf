"""Writes the C++ tables of the ops (the build runs it).

    python3 generate.py OpTable.txt OwnOps.txt OpFacts.txt OUT.cpp

The tables hold offsets instead of pointers: read-only data without relocations and without code at
start-up. Equal runs of rows are stored once.
"""

import pathlib
import struct
import sys

import op_facts
import table_format as form

SLOTS = 4096  # size of the hash table; a power of two, at least twice the ops
UNKNOWN_RANK = 255


class Pool:
    """Rows in one flat table; equal runs of rows are stored once."""

    def __init__(self, limit):
        self.limit = limit  # upper bound of a row's offset
        self.rows = []
        self.runs = {}

    def add(self, run):
        run = tuple(run)
        if not run:
            return 0
        if run not in self.runs:
            self.runs[run] = len(self.rows)
            self.rows += run
        assert len(run) < 256 and len(self.rows) <= self.limit
        return self.runs[run]


class Texts:
    """All names and strings in one array of bytes."""

    def __init__(self):
        self.bytes = b""
        self.places = {}

    def add(self, text):
        data = text.encode() if isinstance(text, str) else text
        if data not in self.places:
            self.places[data] = len(self.bytes)
            self.bytes += data
        assert len(data) < 1 << 10 and len(self.bytes) < 1 << 22
        return self.places[data] if data else 0, len(data)


def row(kind, *fields):
    return f"{kind}({', '.join(map(str, fields))})"


def braced(*fields):
    return f"{{{', '.join(map(str, fields))}}}"


class Tables:
    def __init__(self):
        self.texts = Texts()
        self.ints = Pool(1 << 32)
        self.constants = Pool(1 << 16)
        self.args = Pool(1 << 16)
        self.attrs = Pool(1 << 16)
        self.facts = {}  # row numbers
        self.ops = []

    def text(self, text):
        offset, size = self.texts.add(text)
        return f"{{{offset}, {size}}}"

    def shape(self, shape):
        """Encodes the offset of the dimensions (32 bits) and the rank (8 bits)."""
        return UNKNOWN_RANK << 32 if shape is None else len(shape) << 32 | self.ints.add(shape)

    def tensor(self, tensor):
        """Encodes a shape, then the number of values after the dimensions, and the dtype."""
        dtype, shape, values = tensor
        assert len(values) < 256 and dtype < 256
        offset = self.ints.add(shape + values)
        return offset | len(shape) << 32 | len(values) << 40 | dtype << 48

    def string(self, text):
        offset, size = self.texts.add(text)
        return offset | size << 32

    def constant(self, kind, value):
        word = {
            "int": lambda: value & (1 << 64) - 1,
            "float": lambda: struct.unpack("<I", struct.pack("<f", value))[0],
            "bool": lambda: int(value),
            "type": lambda: value,
            "string": lambda: self.string(value),
            "func": lambda: self.string(value),
            "shape": lambda: self.shape(value),
            "tensor": lambda: self.tensor(value),
        }[kind]()
        return f"AttrConstant({word:#x})"

    def constant_run(self, attr, values):
        return self.constants.add([self.constant(attr.kind, v) for v in values]), len(values)

    def attr(self, attr):
        default, num_defaults = self.constant_run(attr, attr.default or ())
        allowed, num_allowed = self.constant_run(attr, attr.allowed)
        flags = [attr.is_list, attr.default is not None, attr.minimum is not None]
        return row(
            "AttrDef",
            self.text(attr.name),
            f"AttrKind::{attr.kind.capitalize()}",
            *(str(flag).lower() for flag in flags),
            attr.minimum or 0,
            default,
            num_defaults,
            allowed,
            num_allowed,
        )

    def arg(self, arg):
        return row(
            "ArgDef",
            self.text(arg.name),
            self.text(arg.type_attr),
            self.text(arg.number_attr),
            self.text(arg.type_list_attr),
            f"DType({arg.dtype})",
            str(arg.is_ref).lower(),
        )

    def access(self, access):
        return f"{{Access::Kind({access[0]}), ResourceEnd({access[1]})}}"

    def images(self, inputs=0, sizes=-1, gives=False, any_rank=False):
        return braced(inputs, sizes, str(gives).lower(), str(any_rank).lower())

    def want(self, kind="nothing", argument=-1, attr=""):
        return braced(
            f"OpPermission::Kind({op_facts.PERMISSION_KINDS.index(kind)})",
            argument,
            self.text(attr),
        )

    def fact_row(self, facts):
        effects = facts["effects"]
        flags = [bool(facts.get(flag)) for flag in op_facts.FLAGS]
        flags.append(facts.get("native") == "scalars")
        return braced(
            f"OpKind({op_facts.KINDS.index(facts.get('kind', 'plain'))})",
            facts["arguments"],
            braced(
                self.access(effects.handles),
                f"OpEffects::Reach({effects.reach})",
                self.access(effects.reached),
                str(effects.is_deferred).lower(),
            ),
            f"Totality({op_facts.TOTALITIES.index(facts.get('total', 'may_fail'))})",
            f"NativeForm({op_facts.NATIVE[facts.get('native', 'none')]})",
            f"FusionRole({op_facts.FUSIONS.index(facts.get('fusion', 'none'))})",
            f"OpCost({op_facts.COSTS.index(facts.get('cost', 'compute'))})",
            *(str(flag).lower() for flag in flags),
            self.text(facts.get("makes", "").replace("_", " ")),
            *(self.text(facts.get(key, "")) for key in op_facts.TEXTS),
            *(str(bool(facts.get(flag))).lower() for flag in op_facts.LATER_FLAGS),
            f"ExchangeKeys({op_facts.KEYS.index(facts.get('keys', 'none'))})",
            self.images(*facts.get("images", ())),
            self.want(*facts.get("wants", ())),
            *(self.text(facts.get(key, "")) for key in op_facts.LATER_TEXTS),
        )

    def op(self, op, facts):
        inputs = self.args.add(map(self.arg, op.inputs))
        outputs = self.args.add(map(self.arg, op.outputs))
        attrs = self.attrs.add(map(self.attr, op.attrs))
        assert op.deprecated < 256
        facts = op_facts.with_defaults(facts, op, form.DTYPES.index("resource"))
        facts_number = self.facts.setdefault(self.fact_row(facts), len(self.facts))
        flags = sum(1 << bit for bit, flag in enumerate(form.FLAGS) if flag in op.flags)
        self.ops.append(
            row(
                "OpDef",
                self.text(op.name),
                inputs,
                len(op.inputs),
                outputs,
                len(op.outputs),
                attrs,
                len(op.attrs),
                flags,
                op.deprecated,
                facts_number,
            )
        )


def hash_of(name):
    """FNV-1a; must match hashName in OpTable.cpp."""
    value = 2166136261
    for byte in name.encode():
        value = (value ^ byte) * 16777619 & 0xFFFFFFFF
    return value


def slots_of(names):
    slots = [0] * SLOTS
    assert len(names) * 2 <= SLOTS
    for number, name in enumerate(names, 1):
        slot = hash_of(name) % SLOTS
        while slots[slot]:
            slot = (slot + 1) % SLOTS
        slots[slot] = number
    return slots


def same_pairs(names, facts):
    """Returns pairs of op numbers: an alias, and the op that it is an alias of."""
    numbers = {name: number for number, name in enumerate(names)}
    return [
        braced(number, numbers[facts[name]["same_as"]])
        for name, number in numbers.items()
        if "same_as" in facts.get(name, {})
    ]


def array(kind, name, items, per_line=1):
    yield f"const {kind} {name}[] = {{"
    for i in range(0, len(items), per_line):
        yield "  " + " ".join(f"{item}," for item in items[i : i + per_line])
    yield "};"
    yield ""


def check_order(path, ops):
    names = [op.name for op in ops]
    if names != sorted(set(names)):
        raise SystemExit(f"{path.name}: the ops are not sorted, or one is listed twice")


def cpp(ops, facts):
    names = [op.name for op in ops]
    for name, next_name in zip(names, names[1:], strict=False):
        if name == next_name:
            raise SystemExit(f"OwnOps.txt: op '{name}' is also in OpTable.txt")
    tables = Tables()
    for op in ops:
        tables.op(op, facts.get(op.name, {}))
    yield "// Generated from OpTable.txt, OwnOps.txt and OpFacts.txt by generate.py."
    yield '#include "treadle/ops/Tables.h"'
    yield ""
    yield "namespace treadle::ops {"
    yield ""
    yield from array("char", "texts", list(tables.texts.bytes), 32)
    yield from array("int64_t", "ints", tables.ints.rows or [0], 16)
    yield from array("AttrConstant", "constants", tables.constants.rows, 4)
    yield from array("ArgDef", "args", tables.args.rows)
    yield from array("AttrDef", "attrs", tables.attrs.rows)
    yield from array("OpFacts", "facts", list(tables.facts))
    yield from array("OpDef", "ops", tables.ops)
    yield f"const size_t numOps = {len(ops)};"
    yield from array("OpAlias", "opAliases", same_pairs(names, facts))
    yield f"const size_t numOpAliases = {len(same_pairs(names, facts))};"
    yield f"const size_t numSlots = {SLOTS};"
    yield from array("uint16_t", "slots", slots_of(names), 32)
    yield "} // namespace treadle::ops"


def main():
    *tables, facts, target = map(pathlib.Path, sys.argv[1:])
    ops = []
    for path in tables:
        read = form.parse_table(path.read_text(), path.name)
        check_order(path, read)
        ops += read
    ops.sort(key=lambda op: op.name)
    known = op_facts.parse_facts(facts.read_text(), {op.name for op in ops})
    target.write_text("\n".join(cpp(ops, known)) + "\n")


if __name__ == "__main__":
    main()
