"""Parser for the op tables, OpTable.txt and OwnOps.txt.

Each line is one op, as words separated by single blanks; lines are sorted by name:

    NAME INPUT... -> OUTPUT... | ATTR... | FLAG...

INPUT, OUTPUT   name:TYPE, where TYPE is a dtype (`f32`), a type attribute (`$T`), one of
                these repeated (`$N*f32`, `$N*$T`), or a list of types (`[Tin]`); a prefix `&`
                marks references
ATTR            name:KIND, then `=DEFAULT`, `>=MINIMUM` and `{ALLOWED,...}` if it has them;
                KIND as in a GraphDef: `int`, `list(type)`, ...; ALLOWED may be the name of a
                set of dtypes
values          strings in quotes (JSON; anything unusual as \\uXXXX), shapes `<2x-1>`, `<>`
                (scalar), `<*>` (unknown rank), tensors `ui8<2>(1,2)`, lists `[a,b]`, the
                rest as in C
FLAG            stateful, commutative, aggregate, uninitialized (inputs may be uninitialized),
                distributed, deprecated=VERSION (first graph producer version)

Empty last parts are left out. Sets of dtypes precede the ops: `types NAME = DTYPE...`.
"""

import dataclasses
import json
import re

# Short names of dtypes as in treadle/tensor/DType.cpp; the position is the number.
DTYPES = """
    invalid f32 f64 i32 ui8 i16 i8 str c64 i64 i1 qi8 qui8 qi32 bf16 qi16 qui16 ui16 c128 f16
    resource variant ui32 ui64 f8E5M2 f8E4M3FN f8E4M3FNUZ f8E4M3B11FNUZ f8E5M2FNUZ i4 ui4 i2 ui2
""".split()

FLAGS = ["stateful", "commutative", "aggregate", "uninitialized", "distributed"]

ARG = re.compile(r"(\w+):(&?)(?:\[(\w+)\]|(?:\$(\w+)\*)?(?:\$(\w+)|(\w+)))")
ATTR = re.compile(
    r"(\w+):(?:list\((\w+)\)|(\w+))(?:=([^>{]*?(?:<[^>]*>[^>{]*?)*))?"
    r"(?:>=(-?\d+))?(?:\{(.*)\})?"
)
SHAPE = re.compile(r"<(.*)>")
TENSOR = re.compile(r"(\w+)(<.*>)\((.*)\)")


@dataclasses.dataclass(frozen=True)
class Arg:
    name: str
    dtype: int  # 0: given by an attribute
    type_attr: str = ""
    number_attr: str = ""
    type_list_attr: str = ""
    is_ref: bool = False


@dataclasses.dataclass(frozen=True)
class Attr:
    name: str
    kind: str
    is_list: bool
    default: tuple | None  # values: one, or a list's
    minimum: int | None
    allowed: tuple


@dataclasses.dataclass(frozen=True)
class Op:
    name: str
    inputs: tuple
    outputs: tuple
    attrs: tuple
    flags: frozenset
    deprecated: int


def parse_shape(text):
    """Parses a shape; returns None if the rank is unknown."""
    dims = SHAPE.fullmatch(text)[1]
    return None if dims == "*" else tuple(int(d) for d in dims.split("x") if d)


def parse_tensor(text):
    dtype, shape, values = TENSOR.fullmatch(text).groups()
    return DTYPES.index(dtype), parse_shape(shape), tuple(int(v) for v in values.split(",") if v)


PARSERS = {
    "string": lambda text: json.loads(text).encode("latin-1"),
    "int": int,
    "float": float,
    "bool": {"true": True, "false": False}.__getitem__,
    "type": DTYPES.index,
    "shape": parse_shape,
    "tensor": parse_tensor,
    "func": json.loads,
}


def split_list(text):
    """Splits at commas outside of parentheses."""
    return [w for w in re.split(r",(?![^(]*\))", text) if w]


def parse_arg(text):
    name, ref, list_attr, number, type_attr, dtype = ARG.fullmatch(text).groups()
    return Arg(
        name,
        DTYPES.index(dtype) if dtype else 0,
        type_attr or "",
        number or "",
        list_attr or "",
        bool(ref),
    )


def parse_attr(text, sets):
    name, list_kind, scalar_kind, default, minimum, allowed = ATTR.fullmatch(text).groups()
    kind = list_kind or scalar_kind
    parse = PARSERS[kind]
    values = None
    if default is not None:
        texts = split_list(default[1:-1]) if list_kind else [default]
        values = tuple(parse(t) for t in texts)
    allowed_values = sets.get(allowed) or tuple(parse(t) for t in split_list(allowed or ""))
    return Attr(
        name, kind, bool(list_kind), values, int(minimum) if minimum else None, allowed_values
    )


def parse_op(line, sets):
    parts = [part.split() for part in line.split("|")] + [[], []]
    name, *args = parts[0]
    arrow = args.index("->")
    flags = dict(flag.partition("=")[::2] for flag in parts[2])
    deprecated = int(flags.pop("deprecated", 0))
    return Op(
        name,
        tuple(map(parse_arg, args[:arrow])),
        tuple(map(parse_arg, args[arrow + 1 :])),
        tuple(parse_attr(a, sets) for a in parts[1]),
        frozenset(flags),
        deprecated,
    )


def parse_table(text, name="OpTable.txt"):
    sets, ops = {}, []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            if line.startswith("types "):
                _, name, _, *dtypes = line.split()
                sets[name] = tuple(DTYPES.index(d) for d in dtypes)
            elif line and not line.startswith("#"):
                ops.append(parse_op(line, sets))
        except (AttributeError, TypeError, ValueError, KeyError) as error:
            raise SystemExit(f"{name}:{number}: can't read '{line}': {error!r}") from error
    return ops
