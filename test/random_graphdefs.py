"""Random GraphDefs, in protobuf's wire format as protobuf itself would write them.

They hold attributes of every kind, NaNs with payloads, negative zeros, empty values, unknown
fields, unknown ops, functions, debug info, and edges forwards and backwards. That makes bytes the
measure of a round trip: fields stand in the order of their numbers, maps in that of their keys.
"""

import struct

from fuzz_sessions import varint

NAMES = [
    b"",
    b"a",
    b"T",
    b"_x",
    b"a/b.c-d",
    b"\xc3\xa4",
    b"with space",
    b'quote"\\',
    b"line\nbreak",
]
FLOATS = [0x80000000, 0, 0x7F800001, 0xFFC12345, 0x7FC00000, 0x3F800000, 0x7F7FFFFF, 1]
NUMBERS = [0, 1, -1, 127, 128, (1 << 63) - 1, -(1 << 63), 1 << 31]
DTYPES = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 14, 17, 18, 19, 20, 21, 22, 23, 101, 103, 107, 120]
SIZES = {
    1: 4,
    2: 8,
    3: 4,
    4: 1,
    5: 2,
    6: 1,
    8: 8,
    9: 8,
    10: 1,
    14: 2,
    17: 2,
    18: 16,
    19: 2,
    22: 4,
    23: 8,
}


def number(field, value):
    return varint(field << 3) + varint(value)


def chunk(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


def text(field, data):
    """A field of proto3: left out where it is empty."""
    return chunk(field, data) if data else b""


def fixed32(field, bits):
    return varint(field << 3 | 5) + struct.pack("<I", bits)


def unknown(rng):
    return number(1999, rng.choice(NUMBERS)) if rng.random() < 0.05 else b""


def shape(rng):
    if rng.random() < 0.2:
        return number(3, 1)
    dims = b""
    for _ in range(rng.randrange(4)):
        size = rng.choice([0, 1, 2, 3, -1])
        name = rng.choice([b"", b"", b"rows"])
        dims += chunk(2, (number(1, size) if size else b"") + text(2, name))
    return dims


def tensor(rng):
    dtype = rng.choice(DTYPES)
    dims = [rng.randrange(4) for _ in range(rng.randrange(3))]
    out = number(1, dtype)
    sizes = b"".join(chunk(2, number(1, d) if d else b"") for d in dims)
    out += chunk(2, sizes)
    out += number(3, rng.randrange(1, 5)) if rng.random() < 0.05 else b""
    count = 1
    for d in dims:
        count *= d
    if dtype in SIZES and rng.random() < 0.5:
        out += text(4, bytes(rng.randrange(256) for _ in range(count * SIZES[dtype])))
    elif dtype == 1 and count:
        values = [rng.choice(FLOATS) for _ in range(rng.randrange(1, count + 1))]
        out += chunk(5, b"".join(struct.pack("<I", v) for v in values))
    elif dtype in (3, 4, 5, 6) and count:
        values = [rng.choice([0, 1, 5, 100]) for _ in range(rng.randrange(1, count + 1))]
        out += chunk(7, b"".join(varint(v) for v in values))
    elif dtype == 7:
        out += b"".join(chunk(8, rng.choice(NAMES)) for _ in range(count))
    elif dtype == 9 and count:
        out += chunk(10, b"".join(varint(rng.choice(NUMBERS)) for _ in range(count)))
    return out + unknown(rng)


def function_value(rng, depth):
    return text(1, rng.choice([b"f", b"g", b"nobody", b""])) + attributes(rng, 2, depth + 1)


def packed(field, parts):
    return chunk(field, b"".join(parts)) if parts else b""


def list_value(rng, depth):
    n = rng.randrange(4)
    kind = rng.randrange(8)
    if kind == 0:
        return b"".join(chunk(2, rng.choice(NAMES)) for _ in range(n))
    if kind == 1:
        return packed(3, [varint(rng.choice(NUMBERS)) for _ in range(n)])
    if kind == 2:
        return packed(4, [struct.pack("<I", rng.choice(FLOATS)) for _ in range(n)])
    if kind == 3:
        return packed(5, [varint(rng.randrange(2)) for _ in range(n)])
    if kind == 4:
        return packed(6, [varint(rng.choice(DTYPES)) for _ in range(n)])
    if kind == 5:
        return b"".join(chunk(7, shape(rng)) for _ in range(n))
    if kind == 6:
        return b"".join(chunk(8, tensor(rng)) for _ in range(n))
    return b"".join(chunk(9, function_value(rng, depth)) for _ in range(n))


def attribute(rng, depth):
    kinds = {
        1: lambda: chunk(1, list_value(rng, depth)),
        2: lambda: chunk(2, rng.choice(NAMES)),
        3: lambda: number(3, rng.choice(NUMBERS)),
        4: lambda: fixed32(4, rng.choice(FLOATS)),
        5: lambda: number(5, rng.randrange(2)),
        6: lambda: number(6, rng.choice([*DTYPES, 0])),
        7: lambda: chunk(7, shape(rng)),
        8: lambda: chunk(8, tensor(rng)),
        9: lambda: chunk(9, rng.choice(NAMES)),
        10: lambda: chunk(10, function_value(rng, depth)),
        11: lambda: b"",  # not set
    }
    simple = [2, 3, 4, 5, 6, 7, 8, 9, 11]
    return kinds[rng.choice(simple if depth > 2 else list(kinds))]() + unknown(rng)


def attributes(rng, field, depth=0, prefix=b"k"):
    keys = sorted({prefix + rng.choice(NAMES) for _ in range(rng.randrange(4))})
    return b"".join(chunk(field, chunk(1, key) + chunk(2, attribute(rng, depth))) for key in keys)


def full_type(rng, depth=0):
    out = number(1, rng.choice([3, 1000, 206]))
    for _ in range(rng.randrange(2) if depth < 3 else 0):
        out += chunk(2, full_type(rng, depth + 1))
    return out + (chunk(3, b"name") if rng.random() < 0.2 else b"")


def node(rng, name, others, spell):
    op = rng.choice([b"Mystery", b"Op2", b"Ns>Custom"])
    out = chunk(1, name) + chunk(2, op)
    for _ in range(rng.randrange(3) if others else 0):
        out += chunk(3, spell(rng.choice(others)))
    for other in rng.sample(others, rng.randrange(min(3, len(others) + 1))):
        out += chunk(3, b"^" + other)
    out += text(4, rng.choice([b"", b"", b"/job:a/device:CPU:0", b"odd device"]))
    out += attributes(rng, 5)
    if rng.random() < 0.1:
        out += chunk(6, text(1, rng.choice(NAMES)) + text(2, rng.choice(NAMES)))
    out += chunk(7, full_type(rng)) if rng.random() < 0.1 else b""
    return out + unknown(rng)


def nodes(rng, field, spell, most):
    # Inputs come from nodes that are made before: only NextIteration closes cycles.
    names = [
        b"n%d" % i + rng.choice([b"", b"/x", b"-y", b".z"]) for i in range(rng.randrange(most))
    ]
    made = [node(rng, name, names[:i], spell) for i, name in enumerate(names)]
    if rng.random() < 0.5:
        rng.shuffle(made)
    return b"".join(chunk(field, data) for data in made)


def graph(rng):
    """A GraphDef's bytes."""

    def spell(source):
        return source + rng.choice([b"", b"", b":1", b":2"])

    out = nodes(rng, 1, spell, 8)
    library = b""
    for name in [b"f", b"g"][: rng.randrange(3)]:
        library += chunk(1, library_function(rng, name))
    out += chunk(2, library) if library else b""
    out += chunk(4, number(1, rng.randrange(1, 3000)) + number(2, rng.randrange(1, 20)))
    return out + unknown(rng)


def library_function(rng, name):
    """A FunctionDef: its results are its arguments."""
    args = [(b"arg%d" % i, rng.choice([1, 3, 7, 9, 20])) for i in range(rng.randrange(3))]
    signature = chunk(1, name)
    signature += b"".join(chunk(2, chunk(1, arg) + number(3, dtype)) for arg, dtype in args)
    signature += b"".join(chunk(3, chunk(1, b"r" + arg) + number(3, dtype)) for arg, dtype in args)
    body = nodes(rng, 3, lambda source: source + b":out:%d" % rng.randrange(3), 5)
    returns = b"".join(chunk(4, chunk(1, b"r" + arg) + chunk(2, arg)) for arg, _ in args)
    return chunk(1, signature) + body + returns + attributes(rng, 5, prefix=b"_k") + unknown(rng)
