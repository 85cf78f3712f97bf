"""Properties of ops beyond their signatures: parses OpFacts.txt and applies defaults.

    FACT... : OP...

Each op is in at most one row. Lines that begin with a blank continue a row.

kind=KIND           role in control flow and calls: argument, placeholder, noop, switch, merge,
                    enter, exit, next, other_v1, call, if, case, while, for, other_call,
                    higher_order
arguments=N         input N is the first argument of the functions that the op runs; implied by
                    call, if, case and while
region              has a counterpart with regions
stateless=OP        the op with the same behavior whose functions have no side effects
same_as=OP          alias: OP computes the same from the same first inputs, up to the first one of
                    bytes; the alias's other inputs and outputs describe memory layouts
effects=EFFECTS     none, deferred, ACCESS (to the resources of its handles), own (state of the
                    node) or REACH.ACCESS; comma-separated. REACH is world, named or channel;
                    ACCESS is read, write, put or take
makes=FAMILY        the family of resources that it returns handles of; `_` represents a blank
blocks              may wait for another op or run
python              runs Python
forgets             is stateful, but keeps no reference to its inputs after the run
reads_variables     only effect: reads variables
updates_variables   only effect: reads and writes variables of its handles
checks              only effect: fails if its first input is false
shape="SIGNATURE"   the shapes of its results (shapes/Signature.h); most ops have theirs in the
                    tables of treadle/shapes
pointwise           computes each element of the result from one of each input; implied by
                    elementwise
no_gradient         results don't depend on the inputs, or are piecewise constant in them
total=WHEN          can't fail: always; numbers, broadcast, product: if all inputs are numbers
                    (with broadcastable shapes; or matrices with equal inner dimensions)
elementwise=FORM    the function that it computes for each element
native=HOW          how machine code executes it: computes, scalars (no larger tensors), passes
                    (forwards its input), repeats (broadcasts it), reduces, none. Default with
                    elementwise: computes
moves               results are rearranged elements of the inputs
fusion=ROLE         role in fused kernels: contraction (the first op), step, or activation (the
                    last op)
keys=WHERE          where a collective op gets group and instance keys from: attributes; inputs
                    (the first ones), after_value (after the first); communicator; world (all ranks)
receives            returns what another task sends
images="IN... -> OUT" which inputs, and whether the first result, are in the layout of the attribute
                    data_format: image, any (an image of any rank), sizes (lists the dimensions of
                    an image), *
reduces=HOW         the reduction over the axes that the second input lists
negation=OP         the comparison with the opposite result, except for NaN
undoes=OP           inverse: applied to OP's result, it returns OP's first input
rounds              rounds its first input to few bits
operator=SYMBOL     its operator in C++ or Python, selected together with the number of inputs
on_tensor=OP        the op that computes on a tensor what this one does to a variable
asks_initialized    tests if a variable is initialized
starts_iterator     makes its second input an iterator over its first, a dataset
gives_gradients     returns the gradient accumulators of its input resources
costly              computing an element takes much longer than reading and writing it
condition_of_rows   the condition may be a vector with one element for each row of the other inputs
wants=KIND:NAME     the permission that it needs: read or write, and the input (its index) or
                    attribute that names the file; clock
does="..."          its side effect as a verb, for people
cost=COST           free, or the pattern of communication: all_reduce, reduce_scatter, all_gather,
                    all_to_all, broadcast, transfer

Effects that a row doesn't give follow from the signature: an op that isn't stateful has none. A
stateful op makes a resource if it returns a handle and takes none; else it writes the resources
of its handles; and if it has no handles, it writes to the world.
"""

import dataclasses
import shlex

KINDS = """plain argument placeholder noop switch merge enter exit next other_v1 call if case
    while for other_call higher_order""".split()
TOTALITIES = "may_fail always numbers broadcast product".split()
COSTS = """compute free all_reduce reduce_scatter all_gather all_to_all broadcast
    transfer""".split()
NATIVE = {"none": 0, "passes": 1, "computes": 2, "scalars": 2, "repeats": 3, "reduces": 4}
FUSIONS = "none contraction step activation".split()
REACHES = "nothing world own named channel".split()
ACCESSES = {"none": (0, 3), "read": (1, 3), "write": (2, 3), "put": (2, 1), "take": (2, 2)}
FIRST_ARGUMENTS = {"call": 0, "if": 1, "case": 1, "while": 0}
KEYS = "none attributes inputs after_value communicator world".split()
PERMISSION_KINDS = "nothing read write clock".split()
FLAGS = """region blocks python forgets reads_variables updates_variables checks moves
    no_gradient pointwise""".split()
LATER_FLAGS = """rounds asks_initialized starts_iterator gives_gradients receives
    condition_of_rows costly""".split()
OPS = "stateless same_as negation undoes on_tensor".split()  # words that name another op
WORDS = """kind arguments effects makes shape total elementwise native fusion cost keys images
    reduces operator wants does stateless same_as negation undoes on_tensor""".split()
# As in OpFacts.
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
            raise ValueError(f"unknown effects '{word}'")
        elif reach:
            parts |= {"reach": REACHES.index(reach), "reached": ACCESSES[access]}
        else:
            parts["handles"] = ACCESSES[word]
    return Effects(**parts)


def parse_images(text):
    """Returns the fields of ImageFacts."""
    takes, arrow, gives = text.partition(" -> ")
    inputs = takes.split(", ")
    if not arrow or not {*inputs, gives} <= {"image", "any", "sizes", "*"}:
        raise ValueError(f"'{text}' is not a fact about images")
    images = [n for n, word in enumerate(inputs) if word in ("image", "any")]
    sizes = inputs.index("sizes") if "sizes" in inputs else -1
    return sum(1 << n for n in images), sizes, gives in ("image", "any"), "any" in inputs


def parse_permission(text):
    """Returns the kind, the input and the attribute of an OpPermission."""
    kind, _, what = text.partition(":")
    if kind not in PERMISSION_KINDS:
        raise ValueError(f"unknown want '{kind}'")
    return (kind, int(what), "") if what.isdigit() else (kind, -1, what)


def rows(text):
    """Yields the number of the first line of each row, and the row."""
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
            raise ValueError(f"unknown fact '{word}'")
        if key in facts:
            raise ValueError(f"'{key}' is stated twice")
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
            raise ValueError(f"unknown {key} '{facts[key]}'")
    if not facts.get("arguments", "0").isdigit():
        raise ValueError(f"'{facts['arguments']}' is not the index of an input")
    for key, parse in (
        ("effects", parse_effects),
        ("images", parse_images),
        ("wants", parse_permission),
    ):
        if key in facts:
            facts[key] = parse(facts[key])
    return facts, names.split()


def parse_facts(text, names):
    """Parses OpFacts.txt to a dict by op; `names` are those of all ops."""
    known = {}
    for number, row in rows(text):
        try:
            facts, ops = parse_row(row)
            for op in [*ops, *(facts[key] for key in OPS if key in facts)]:
                if op not in names:
                    raise ValueError(f"unknown op '{op}'")
            for op in ops:
                if op in known:
                    raise ValueError(f"op '{op}' already has a row")
                known[op] = facts
        except ValueError as error:
            raise SystemExit(f"OpFacts.txt:{number}: {error}") from error
    return known


def has_handle(args, resource):
    return any(arg.dtype == resource or arg.is_ref for arg in args)


def with_defaults(facts, op, resource):
    """Adds facts that follow from the signature; `resource` is that dtype's number."""
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
