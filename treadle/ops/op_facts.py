"""The facts about ops, OpFacts.txt: reading a row, and what follows from a signature.

    FACT... : OP...

Each op stands in one row at most; the row goes on in lines that begin with a blank.

kind=KIND           what it is to control flow and calls: argument, placeholder, noop, switch,
                    merge, enter, exit, next, other_v1, call, if, case, while, for, other_call,
                    higher_order
arguments=N         input N is the first argument of the functions that it runs; for call, if, case
                    and while that is clear without
region              has a counterpart with regions
stateless=OP        the op that differs from it only in that its functions have no effects
same_as=OP          the op that computes the same from the same first inputs, those before the first
                    of bytes; what else it takes and gives says how tensors lie in memory
effects=EFFECTS     none, deferred, ACCESS (to what its inputs are handles to), own (a state of the
                    node) or REACH.ACCESS; several with commas. REACH is world, named or channel;
                    ACCESS is read, write, put or take
makes=FAMILY        the resources whose handles it gives; `_` stands for a blank
blocks              may wait for another op or run
python              runs Python
forgets             stateful, but keeps nothing that it is given beyond the run
reads_variables     reads variables, and does nothing else
updates_variables   reads and writes variables that it is given handles to, and does nothing else
checks              fails unless its first input is true, and does nothing else
shape="SIGNATURE"   the shapes of its results, as shapes/Signature.h reads them; most ops have
                    theirs in the tables beside the shape functions
pointwise           computes each element of its result from one of each input; where a form is
                    said, this needn't be
no_gradient         its results don't change with its inputs, or in steps
total=WHEN          can't fail: always; numbers, broadcast, product: where all inputs are numbers
                    (and their shapes fit together; or are matrices that can be multiplied)
elementwise=FORM    what it computes of each element
native=HOW          how machine code computes it: computes, scalars (and no larger tensors), passes
                    (hands its input on), none. With elementwise: computes, unless this is said
moves               gives elements of its inputs, put elsewhere
fusion=ROLE         in kernels that compute several ops at once, contraction (they begin with it),
                    step or activation (they end with it)
keys=WHERE          where a collective exchange says who takes part: attributes; inputs (the first
                    ones), after_value (behind the first); communicator; world (everybody does)
receives            gives what another task sends
images="IN... -> OUT" which of its inputs, and whether its first result, have channels where the
                    attribute data_format says: image, any (an image of any rank), sizes (lists the
                    dimensions of an image), *
reduces=HOW         what it makes of the elements along the axes that its second input names
negation=OP         the comparison that is true where this one is false, but for NaN
undoes=OP           gives what OP was given, if it is given what OP gave
rounds              gives its first input, rounded to what a few bits can hold
operator=SYMBOL     what stands for it in C++ or Python, together with its number of inputs
on_tensor=OP        the op that does to a tensor what this one does to a variable
asks_initialized    says whether a variable holds something
starts_iterator     makes its second input an iterator over its first, a dataset
gives_gradients     gives the resources in which gradients are collected for those it is given
condition_of_rows   its condition may be a vector, with an element for each row of the other inputs
wants=KIND:NAME     what it asks for beside its values: read or write, and the input (its number) or
                    attribute that names the file; clock
does="..."          what it does to the outside world, for people
cost=COST           free, or how an exchange goes: all_reduce, reduce_scatter, all_gather,
                    all_to_all, broadcast, transfer

What a row doesn't say of effects follows from the signature: an op that isn't stateful has none; a
stateful one makes a resource if it gives a handle and takes none, writes to what it takes handles
to, or else to the world.
"""

import dataclasses
import shlex

KINDS = """plain argument placeholder noop switch merge enter exit next other_v1 call if case
    while for other_call higher_order""".split()
TOTALITIES = "may_fail always numbers broadcast product".split()
COSTS = """compute free all_reduce reduce_scatter all_gather all_to_all broadcast
    transfer""".split()
NATIVE = {"none": 0, "passes": 1, "computes": 2, "scalars": 2}
FUSIONS = "none contraction step activation".split()
REACHES = "nothing world own named channel".split()
ACCESSES = {"none": (0, 3), "read": (1, 3), "write": (2, 3), "put": (2, 1), "take": (2, 2)}
FIRST_ARGUMENTS = {"call": 0, "if": 1, "case": 1, "while": 0}
KEYS = "none attributes inputs after_value communicator world".split()
WANTS = "nothing read write clock".split()
FLAGS = """region blocks python forgets reads_variables updates_variables checks moves
    no_gradient pointwise""".split()
LATER_FLAGS = """rounds asks_initialized starts_iterator gives_gradients receives
    condition_of_rows""".split()
OPS = "stateless same_as negation undoes on_tensor".split()  # words that name another op
WORDS = """kind arguments effects makes shape total elementwise native fusion cost keys images
    reduces operator wants does stateless same_as negation undoes on_tensor""".split()
# As OpFacts has them.
TEXTS = "elementwise stateless shape".split()
LATER_TEXTS = "reduces negation undoes on_tensor operator does".split()


@dataclasses.dataclass(frozen=True)
class Effects:
    handles: tuple = ACCESSES["none"]
    reach: int = 0
    reached: tuple = ACCESSES["none"]
    is_deferred: bool = False


def parse_effects(text):
    parts = {}
    for word in text.split(","):
        reach, _, access = word.rpartition(".")
        if word == "deferred":
            parts["is_deferred"] = True
        elif word == "own":
            parts |= {"reach": REACHES.index("own"), "reached": ACCESSES["write"]}
        elif access not in ACCESSES or (reach and reach not in REACHES):
            raise ValueError(f"there are no effects '{word}'")
        elif reach:
            parts |= {"reach": REACHES.index(reach), "reached": ACCESSES[access]}
        else:
            parts["handles"] = ACCESSES[word]
    return Effects(**parts)


def parse_images(text):
    """As ImageFacts."""
    takes, arrow, gives = text.partition(" -> ")
    inputs = takes.split(", ")
    if not arrow or not {*inputs, gives} <= {"image", "any", "sizes", "*"}:
        raise ValueError(f"'{text}' tells nothing about images")
    images = [n for n, word in enumerate(inputs) if word in ("image", "any")]
    sizes = inputs.index("sizes") if "sizes" in inputs else -1
    return sum(1 << n for n in images), sizes, gives in ("image", "any"), "any" in inputs


def parse_want(text):
    """The kind, the input and the attribute."""
    kind, _, what = text.partition(":")
    if kind not in WANTS:
        raise ValueError(f"there is no want '{kind}'")
    return (kind, int(what), "") if what.isdigit() else (kind, -1, what)


def rows(text):
    """The number of the first line of each row, and the row."""
    row, first = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith(" "):
            row += line
        elif not line.startswith("#"):
            if row:
                yield first, row
            row, first = line, number
    if row:
        yield first, row


def parse_row(row):
    said, colon, names = row.partition(" : ")
    if not colon or not said.split() or not names.split():
        raise ValueError("expected FACT... : OP...")
    facts = {}
    for word in shlex.split(said):
        key, equals, value = word.partition("=")
        if key not in (WORDS if equals else FLAGS + LATER_FLAGS):
            raise ValueError(f"there is no fact '{word}'")
        if key in facts:
            raise ValueError(f"'{key}' is said twice")
        facts[key] = value if equals else True
    for key, known in (
        ("kind", KINDS),
        ("total", TOTALITIES),
        ("native", NATIVE),
        ("fusion", FUSIONS),
        ("cost", COSTS),
        ("keys", KEYS),
    ):
        if key in facts and facts[key] not in known:
            raise ValueError(f"there is no {key} '{facts[key]}'")
    if not facts.get("arguments", "0").isdigit():
        raise ValueError(f"'{facts['arguments']}' is no number of an input")
    for key, parse in (("effects", parse_effects), ("images", parse_images), ("wants", parse_want)):
        if key in facts:
            facts[key] = parse(facts[key])
    return facts, names.split()


def parse_facts(text, names):
    """What OpFacts.txt says of each op, by name; `names` are those of all ops."""
    known = {}
    for number, row in rows(text):
        try:
            facts, ops = parse_row(row)
            for op in [*ops, *(facts[key] for key in OPS if key in facts)]:
                if op not in names:
                    raise ValueError(f"there is no op '{op}'")
            for op in ops:
                if op in known:
                    raise ValueError(f"op '{op}' has a row already")
                known[op] = facts
        except ValueError as error:
            raise SystemExit(f"OpFacts.txt:{number}: {error}") from error
    return known


def has_handle(args, resource):
    return any(arg.dtype == resource or arg.is_ref for arg in args)


def with_defaults(facts, op, resource):
    """The facts with those that follow from the signature; `resource` is that dtype's number."""
    facts = dict(facts)
    takes, gives = has_handle(op.inputs, resource), has_handle(op.outputs, resource)
    stateful = "stateful" in op.flags
    if stateful and gives and not takes:
        facts.setdefault("makes", "resource")
    if not stateful or "makes" in facts:
        facts.setdefault("effects", Effects())
    elif takes:
        facts.setdefault("effects", Effects(handles=ACCESSES["write"]))
    else:
        facts.setdefault("effects", parse_effects("world.write"))
    if "elementwise" in facts:
        facts.setdefault("native", "computes")
    facts.setdefault("arguments", FIRST_ARGUMENTS.get(facts.get("kind"), -1))
    return facts
