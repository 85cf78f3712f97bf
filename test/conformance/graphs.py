#!/usr/bin/env python3
"""Runs graphs in TensorFlow after every pass and pipeline, beside the graphs as they were.

    ./dev conformance graphs                    the corpus's graphs with control flow
    ./dev conformance graphs --sample 50        so many of them, evenly chosen
    ./dev conformance graphs --only while_v2    those whose name contains this
    ./dev conformance graphs --pass tfg-inline  this pass instead of all
    ./dev conformance graphs --combine 200      so many random sequences of two or three passes
    ./dev conformance graphs MODEL...           these SavedModels

TREADLE_TENSORFLOW_PYTHON names a Python that has TensorFlow, which loads what the pass gives as a
GraphDef and makes the calls of the case. Each graph is tried in two forms: as it is, and as a
function that is called. Prints a row for each pass:

    equal      the same values, or the same class of error
    different  other values
    refused    TensorFlow raises an error where it ran the graph before
    errors     the pass raises an error
    own ops    the result has ops that only Treadle has, and was not run

A result that is the graph itself counts as equal; the row says how many are.

Programs that TensorFlow itself runs differently when it is asked twice are left out. The exit
status is 1 if anything is different or refused, or a pass raised an error.
"""

import argparse
import collections
import hashlib
import io
import json
import os
import pathlib
import random
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))

import passes_on_corpus as harness  # noqa: E402

KINDS = ("equal", "unchanged", "different", "refused", "errors", "own ops")
FORMS = ("graph", "function")
SAVED_MODEL = "saved_model"
SECONDS = 20


# --- the process that runs graphs in TensorFlow --------------------------------------------------


def tensorflow():
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf

    return tf


def as_value(array):
    """With an exact dtype, and comparable by bytes."""
    import numpy as np

    array = np.asarray(array)
    return array if array.dtype.kind != "O" else array.astype(object)


class Outcomes:
    """What the calls of a case gave: values, or the class of an error."""

    def __init__(self):
        self.calls = []

    def add(self, call):
        try:
            self.calls.append([as_value(v) for v in call()])
        except Exception as error:
            self.calls.append(error)

    def difference(self, other, differs):
        """(kind, reason) of the first difference of `other`, or None."""
        for i, (want, got) in enumerate(zip(self.calls, other.calls, strict=True)):
            if isinstance(got, Exception):
                if type(want) is not type(got):
                    return ["refused", f"call {i}: {type(got).__name__}: {str(got)[:300]}"]
            elif isinstance(want, Exception):
                return ["different", f"call {i}: no error, expected {type(want).__name__}"]
            else:
                for w, g in zip(want, got, strict=True):
                    if reason := differs(w, g):
                        return ["different", f"call {i}: {reason}"]
        return None


def load_functions(library):
    """Refuses what the reader of SavedModels refuses, and a session does not."""
    for function in library.function:
        if "_input_shapes" not in function.attr:
            continue
        num_shapes = len(function.attr["_input_shapes"].list.shape)
        num_arguments = len(function.signature.input_arg)
        if num_shapes != num_arguments:
            raise ValueError(
                f"function '{function.signature.name}': {num_shapes} _input_shapes and "
                f"{num_arguments} arguments"
            )


def session_of(graph_def, optimized):
    tf = tensorflow()
    load_functions(graph_def.library)
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(graph_def, name="")
    config = tf.compat.v1.ConfigProto(allow_soft_placement=True)
    config.operation_timeout_in_ms = SECONDS * 1000
    config.inter_op_parallelism_threads = config.intra_op_parallelism_threads = 1
    if not optimized:
        config.graph_options.optimizer_options.opt_level = -1
        config.graph_options.rewrite_options.disable_meta_optimizer = True
    return graph, tf.compat.v1.Session(graph=graph, config=config)


class CorpusCase:
    """One case of the corpus: a graph, and calls in one session."""

    optimized = False

    def __init__(self, replay, files):
        self.replay = replay
        self.case = json.loads(files["case.json"])
        values = files.get("values.npz")
        self.npz = __import__("numpy").load(io.BytesIO(values)) if values else {}
        self.content = files["graph.pb"]

    def converted(self, name, options):
        """The bytes of the graph after a pass, or as Treadle gives it back without one."""
        import treadle

        graph = treadle.Graph.from_bytes(self.content)
        if name:
            graph = graph.run_passes(sequence(name, options, self.case))
        return graph.to_bytes()

    def own_ops(self, content):
        """Ops that TensorFlow doesn't have."""
        from tensorflow.python.framework import op_def_registry

        graph = tensorflow().compat.v1.GraphDef.FromString(content)
        functions = {function.signature.name for function in graph.library.function}
        nodes = [*graph.node, *(n for f in graph.library.function for n in f.node_def)]
        ops = {node.op for node in nodes} - functions
        return {op for op in ops if op_def_registry.get(op) is None}

    def run(self, content):
        """The outcomes of all calls; raises what loading raises."""
        graph_def = tensorflow().compat.v1.GraphDef.FromString(content)
        graph, session = session_of(graph_def, self.optimized)
        outcomes = Outcomes()
        with session:
            for call in self.case["calls"]:
                outcomes.add(lambda call=call: self.call(graph, session, call))
        return outcomes

    def call(self, graph, session, call):
        names, opaque = split_fetches(call)
        fetches = [graph.get_tensor_by_name(name) for name in names]
        targets = [graph.get_operation_by_name(name) for name in [*call["targets"], *opaque]]
        feeds = {f["tensor"]: self.replay.value(f["value"], self.npz) for f in call["feeds"]}
        return session.run(fetches + targets, feeds)[: len(fetches)]


def split_fetches(call):
    """Values that can be compared, and the nodes of handles, which only run."""
    values = call["expect"].get("values") or [{}] * len(call["fetches"])
    pairs = list(zip(call["fetches"], values, strict=True))
    return (
        [name for name, value in pairs if "opaque" not in value],
        [name.split(":")[0] for name, value in pairs if "opaque" in value],
    )


class CalledCase(CorpusCase):
    """The same as a function that is called, as TensorFlow 2 runs its programs."""

    optimized = True

    def __init__(self, replay, files):
        super().__init__(replay, files)
        asked = {
            json.dumps([c["fetches"], c["targets"], [f["tensor"] for f in c["feeds"]]])
            for c in self.case["calls"]
        }
        if len(asked) > 1:
            raise ValueError("its calls ask for several things")
        self.wrap()

    def wrap(self):
        tf = tensorflow()
        call = self.case["calls"][0]
        graph_def = tf.compat.v1.GraphDef.FromString(self.content)
        whole = tf.compat.v1.wrap_function(lambda: tf.import_graph_def(graph_def, name=""), [])
        names, opaque = split_fetches(call)
        fed = [whole.graph.get_tensor_by_name(f["tensor"]) for f in call["feeds"]]
        fetched = [whole.graph.get_tensor_by_name(name) for name in names]
        targets = [whole.graph.get_operation_by_name(n) for n in [*call["targets"], *opaque]]
        function = whole.prune(fed, [fetched, targets])
        with tf.Graph().as_default() as graph:
            arguments = [
                tf.compat.v1.placeholder(t.dtype, t.shape, f"argument_{i}")
                for i, t in enumerate(fed)
            ]
            # A function that nothing but its effects is asked of has no results.
            results = tf.nest.flatten(function(*arguments))
            results = [r for r in results if isinstance(r, tf.Tensor)][: len(fetched)]
            results = [tf.identity(r, f"result_{i}") for i, r in enumerate(results)]
            calls = [op.name for op in graph.get_operations() if "PartitionedCall" in op.type]
        self.content = with_input_shapes(graph.as_graph_def(add_shapes=False)).SerializeToString()
        for call in self.case["calls"]:
            for i, feed in enumerate(call["feeds"]):
                feed["tensor"] = f"argument_{i}:0"
            kept = [v for v in call["expect"].get("values") or [] if "opaque" not in v]
            call["fetches"] = [r.name for r in results]
            call["targets"] = calls
            if "values" in call["expect"]:
                call["expect"]["values"] = kept


def with_input_shapes(graph_def):
    """With the attribute that functions of SavedModels have."""
    for function in graph_def.library.function:
        if "_input_shapes" not in function.attr:
            shapes = function.attr["_input_shapes"].list.shape
            for _ in function.signature.input_arg:
                shapes.add().unknown_rank = True
    return graph_def


class SavedModelCase:
    """A SavedModel, each function of which is called with ones."""

    def __init__(self, folder):
        self.folder = folder

    def converted(self, name, options):
        import treadle

        folder = pathlib.Path(tempfile.mkdtemp()) / "model"
        graph = treadle.Graph.from_file(self.folder)
        if name:
            graph = graph.run_passes(sequence(name, options, {"calls": []}))
        graph.to_file(folder)
        return str(folder)

    def own_ops(self, folder):
        return set()

    def run(self, folder):
        tf = tensorflow()
        outcomes = Outcomes()
        model = tf.saved_model.load(str(folder))
        for name in sorted(model.signatures):
            outcomes.add(lambda name=name: self.call(model.signatures[name]))
        return outcomes

    def call(self, function):
        tf = tensorflow()
        given = {
            name: tf.ones([2 if d is None else d for d in spec.shape], spec.dtype)
            for name, spec in function.structured_input_signature[1].items()
        }
        results = function(**given)
        return [results[name].numpy() for name in sorted(results)]


def sequence(name, options, case):
    """`name` is a pass, or several with + between them."""
    return ",".join(harness.spelled(n, options.get(n, []), case) for n in name.split("+"))


class Subject:
    """A case, what it gives, and the answers for results that were seen before."""

    def __init__(self, case, differs):
        self.case, self.differs, self.answers = case, differs, {}
        self.plain = case.converted("", {})
        self.outcomes = case.run(self.plain)
        again = case.run(self.plain)
        self.is_judged = any(not isinstance(c, Exception) for c in self.outcomes.calls)
        self.is_judged = self.is_judged and not self.outcomes.difference(again, differs)

    def answer(self, name, options):
        try:
            content = self.case.converted(name, options)
        except Exception as error:
            return ["errors", f"{type(error).__name__}: {str(error)[:300]}"]
        if content == self.plain:
            return ["unchanged", ""]
        key = digest(content)
        if key not in self.answers:
            self.answers[key] = self.judged(content)
        return self.answers[key]

    def judged(self, content):
        try:
            outcomes = self.case.run(content)
        except Exception as error:
            if own := self.case.own_ops(content):
                return ["own ops", ", ".join(sorted(own))]
            return ["refused", f"load: {type(error).__name__}: {str(error)[:300]}"]
        return self.outcomes.difference(outcomes, self.differs) or ["equal", ""]


def digest(content):
    return hashlib.sha256(content).hexdigest() if isinstance(content, bytes) else content


def work():
    """Reads lines `form TAB archive TAB case TAB passes`; answers each with a line of JSON."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    replay = harness.load_replay()
    options = harness.single_passes() | harness.pipelines()
    archives, subjects = {}, {}

    def subject_of(form, archive, name):
        if form == SAVED_MODEL:
            return Subject(SavedModelCase(archive), replay.differs)
        if archive not in archives:
            archives.clear()
            archives[archive] = replay.read(harness.CORPUS / "cases" / f"{archive}.tar.xz", None)
        kind = CalledCase if form == "function" else CorpusCase
        return Subject(kind(replay, archives[archive][name]), replay.differs)

    for line in sys.stdin:
        *key, passes = line.rstrip("\n").split("\t")
        try:
            if tuple(key) not in subjects:
                subjects = {tuple(key): subject_of(*key)}
            subject = subjects[tuple(key)]
            answer = subject.answer(passes, options) if passes else subject.is_judged
        except Exception as error:
            subjects = {tuple(key): None}
            answer = None if not passes else ["errors", f"{type(error).__name__}: {error}"]
        print(json.dumps(answer), file=out, flush=True)


# --- the tool ------------------------------------------------------------------------------------


def has_control_flow(row):
    return (
        any(row["flags"][flag] for flag in ("cf_v1", "cf_v2")) and not row["flags"]["expects_error"]
    )


def corpus_cases(only, sample):
    rows = [json.loads(line) for line in (harness.CORPUS / "index.jsonl").open()]
    names = sorted(r["dir"] for r in rows if only in r["dir"] and has_control_flow(r))
    split = [name.split("/", 1) for name in harness.evenly(names, sample)]
    return [(form, *parts) for parts in split for form in FORMS]


def run_cases(cases, passes_of, jobs, timeout):
    """For each case that can be judged: (case, passes, answer)."""

    def results_of(worker, case):
        if worker.ask(*case, "") is not True:
            return
        for passes in passes_of(case):
            answer = worker.ask(*case, passes)
            if answer[0] == "failed":  # the process ended
                answer = ["refused", answer[1]]
            yield " ".join(case), passes, answer

    script = os.path.abspath(__file__)
    return harness.in_shares(cases, jobs, lambda: harness.Worker(timeout, script), results_of)


def random_sequences(count, seed, names):
    """So many sequences of two or three passes in all, some for each case."""
    generator = random.Random(seed)
    return ["+".join(generator.sample(names, generator.choice((2, 3)))) for _ in range(count)]


def table(results):
    counts = collections.defaultdict(collections.Counter)
    for _, name, (kind, _) in results:
        counts[name if "+" not in name else "sequences"][kind] += 1
    width = max(map(len, counts), default=4)
    lines = [f"{'pass':{width}}" + "".join(f"{kind:>11}" for kind in KINDS)]
    total = collections.Counter()
    for name in sorted(counts):
        lines.append(f"{name:{width}}" + "".join(f"{counts[name][kind]:11}" for kind in KINDS))
        total.update(counts[name])
    lines.append(f"{'all':{width}}" + "".join(f"{total[kind]:11}" for kind in KINDS))
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", help="SavedModels, instead of the corpus")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--sample", type=int, default=0, help="so many, evenly chosen; 0: all")
    parser.add_argument("--pass", action="append", dest="passes", help="instead of every one")
    parser.add_argument("--combine", type=int, default=0, help="random sequences for each case")
    parser.add_argument("--seed", type=int, default=0, help="of the sequences")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--timeout", type=float, default=90, help="seconds for one result")
    parser.add_argument("--out", help="a line of JSON for each result")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        return work()
    if not args.models and not harness.CORPUS.is_dir():
        sys.exit(f"there is no {harness.CORPUS}; TREADLE_SHARED names the folder that holds corpus")
    names = args.passes or list(harness.single_passes() | harness.pipelines())

    def passes_of(case):
        return (
            random_sequences(args.combine, f"{args.seed} {case}", names) if args.combine else names
        )

    cases = [(SAVED_MODEL, model, "") for model in args.models]
    cases = cases or corpus_cases(args.only, args.sample)
    results = run_cases(cases, passes_of, args.jobs, args.timeout)
    bad = [r for r in results if r[2][0] in ("different", "refused", "errors")]
    for case, name, (kind, why) in bad[:60]:
        print(f"{kind}: {name}: {case}: {why[:300]}")
    if args.out:
        rows = ({"case": c, "pass": p, "kind": k, "why": w} for c, p, (k, w) in results)
        pathlib.Path(args.out).write_text("".join(json.dumps(row) + "\n" for row in rows))
    print(table(results))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
