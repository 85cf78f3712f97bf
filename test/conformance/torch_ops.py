#!/usr/bin/env python3
"""Runs PyTorch's samples of its own ops, as exported programs.

Each sample of PyTorch's op database becomes a module, which torch.export exports. The program is
decomposed to core ops and saved; Treadle reads the file without PyTorch, and must return PyTorch's
results. A sample passes if dtypes, shapes and values are equal; values of random numbers and of
uninitialized memory don't count. Samples that PyTorch can't export are left out.

    ./dev conformance torch
    ./dev conformance torch --only conv --dtypes float32,bfloat16
    ./dev conformance torch --whole         programs as they are exported, not taken apart
    ./dev conformance torch --dynamic       sizes may change where PyTorch allows it
    ./dev conformance torch --ops           also the sums of each op
    ./dev conformance torch --samples 2     of each op and dtype; 0: all
    ./dev conformance torch --edges         variations at the edges of dtypes, in both tiers: see
                                            torch_edges.py; hours for all ops and dtypes

The exit status is 1 if a sample failed.
"""

import argparse
import collections
import concurrent.futures
import contextlib
import io
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import warnings

import torch_edges

DTYPES = "float32,int64,bool,float64,bfloat16,complex64"
EDGE_DTYPES = "float32,int64,uint8,bool,int32,float16,bfloat16,float64,int8,int16,complex64"
EDGE_SAMPLES = 3
TOLERANCES = {"float32": 1e-4, "complex64": 1e-4, "float64": 1e-7, "complex128": 1e-7}
NARROW = 2e-2
KINDS = ("passed", "unimplemented", "wrong", "failed", "left out")


# --- the process that runs samples ---------------------------------------------------------------


def samples_of(info, dtype, count):
    """The first samples of each kind: those with other shapes come late."""
    samples = list(info.sample_inputs("cpu", dtype, requires_grad=False))
    step = max(len(samples) // count, 1) if count else 1
    return samples[::step][: count or None]


def module_of(info, sample):
    """A module that takes the tensors of a sample, and these."""
    import torch
    from torch.utils import _pytree as pytree

    leaves, structure = pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

    class Op(torch.nn.Module):
        changes = False  # whether it changes its arguments, which files can't

        def forward(self, *tensors):
            given = list(leaves)
            for place, tensor in zip(places, tensors, strict=True):
                given[place] = tensor.clone() if self.changes else tensor
            first, args, kwargs = pytree.tree_unflatten(given, structure)
            return sample.output_process_fn_grad(info(first, *args, **kwargs))

    return Op(), tuple(leaves[place] for place in places)


def exported(module, tensors, options):
    import torch

    shapes = None
    if options["dynamic"]:
        auto = torch.export.Dim.AUTO
        shapes = (tuple({i: auto for i, d in enumerate(t.shape) if d > 1} for t in tensors),)
    program = torch.export.export(module, tensors, dynamic_shapes=shapes)
    if not options["whole"]:
        program = program.run_decompositions()
    file = io.BytesIO()
    torch.export.save(program, file)
    return program, file.getvalue()


def has_free_values(program):
    """Whether values are random, or those of memory that nothing was written to."""
    import torch

    targets = [node.target for node in program.graph.nodes if node.op == "call_function"]
    return any(
        torch.Tag.nondeterministic_seeded in getattr(target, "tags", ()) or "empty" in str(target)
        for target in targets
    )


def ran(program, content, tensors):
    """Returns Treadle's result for a saved program."""
    from treadle.torch._arrays import as_array
    from treadle.torch._save import _names

    import treadle

    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "net.pt2")
        file.write_bytes(content)
        call = treadle.load(file).signatures["serving_default"]
    names = program.graph_signature.user_inputs
    given = {name: as_array(plain(t)) for name, t in zip(names, tensors, strict=True)}
    results = call(**given)
    return [results[name] for name in _names(program) if name in results]


def plain(tensor):
    """Without flags that say how to look at it."""
    return tensor.detach().resolve_conj().resolve_neg()


def first_line(error):
    """Returns the first line of an error message, without the file's name."""
    return re.sub(r"\S*net\.pt2: ", "", str(error)).split("\n")[0]


def difference(found, wanted):
    """Describes the difference of a result briefly; for a tensor without elements, values are
    ignored."""
    import numpy as np
    import torch
    from treadle.torch._arrays import as_array, as_tensor

    if not isinstance(wanted, torch.Tensor):  # a number, which has no dtype
        wanted = torch.tensor(wanted, dtype=as_tensor(found).dtype)
    dtype, shape = str(wanted.dtype).removeprefix("torch."), tuple(wanted.shape)
    if found.shape != shape or found.dtype.name != dtype:
        return f"{found.dtype}{list(found.shape)} instead of {dtype}{list(shape)}"
    if wanted.is_meta or not wanted.numel():
        return ""
    wanted = as_array(plain(wanted))
    if dtype == "bool" or "int" in dtype:
        return "" if np.array_equal(found, wanted) else "other values"
    wide = np.complex128 if wanted.dtype.kind == "c" else np.float64
    found, wanted = found.astype(wide), wanted.astype(wide)
    tolerance = TOLERANCES.get(dtype, NARROW)
    if np.allclose(found, wanted, tolerance, tolerance, equal_nan=True):
        return ""
    with np.errstate(all="ignore"):
        return f"other values, by up to {np.nanmax(np.abs(found - wanted)):.2g}"


def outcome(info, sample, options):
    """Returns the outcome of a sample, and the reason."""
    import torch
    from torch.utils import _pytree as pytree

    import treadle

    module, tensors = module_of(info, sample)
    try:
        torch.manual_seed(0)
        copies = [t.clone() for t in tensors]
        wanted = module(*copies)
        module.changes = any(copy._version for copy in copies)
        wanted = [leaf for leaf in pytree.tree_leaves(wanted) if leaf is not None]
        program, content = exported(module, tensors, options)
    except Exception as error:
        return "left out", f"{type(error).__name__}: {first_line(error)}"
    try:
        found = ran(program, content, tensors)
    except treadle.UnimplementedError as error:
        return "unimplemented", first_line(error)
    except Exception as error:
        return "failed", f"{type(error).__name__}: {first_line(error)}"
    if len(found) != len(wanted):
        return "wrong", f"{len(found)} results instead of {len(wanted)}"
    if has_free_values(program):
        wanted = [torch.as_tensor(value).to("meta") for value in wanted]
    differences = list(map(difference, found, wanted))
    if any(differences):  # PyTorch's own results of the program may differ
        again = pytree.tree_leaves(program.module()(*tensors))
        differences = list(map(difference, found, again))
    return ("wrong", next(filter(None, differences))) if any(differences) else ("passed", "")


def ops():
    """PyTorch's database of ops, by name."""
    from torch.testing._internal.common_methods_invocations import op_db

    return {f"{i.name}.{i.variant_test_name}".rstrip("."): i for i in op_db}


def serve():
    """Runs the samples of an op and a dtype, which stdin names in each line; writes the outcome of
    each, and an empty line."""
    import torch

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    known = ops()
    for line in sys.stdin:
        name, dtype, count, options = json.loads(line)
        info = known[name]
        with contextlib.redirect_stdout(sys.stderr):
            torch.manual_seed(0)
            samples = samples_of(info, getattr(torch, dtype), count)
        with contextlib.redirect_stdout(sys.stderr):
            for found in outcomes_of(info, getattr(torch, dtype), samples, options):
                print(json.dumps(found), file=sys.__stdout__, flush=True)
        print(flush=True)


def outcomes_of(info, dtype, samples, options):
    if options["edges"]:
        return torch_edges.outcomes(info, dtype, samples, options["edges"])
    return (outcome(info, sample, options) for sample in samples)


class Runner(threading.local):
    """A process that runs one op after another, and a new one where that died."""

    process = None

    def outcomes(self, *request):
        if self.process is None:
            command = [sys.executable, __file__, "--serve"]
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
            self.process = subprocess.Popen(command, text=True, stderr=subprocess.DEVNULL, **pipes)
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
        while line := self.process.stdout.readline():
            if line == "\n":
                return
            yield json.loads(line)
        yield "failed", f"crash: exit status {self.process.wait()}"
        self.process = None


# --- the report ----------------------------------------------------------------------------------


def pairs(options):
    """The ops and dtypes that are wanted."""
    for name, info in ops().items():
        if options.only and not any(word in name for word in options.only):
            continue
        known = {str(d).removeprefix("torch.") for d in info.supported_dtypes("cpu")}
        for dtype in (options.dtypes or (EDGE_DTYPES if options.edges else DTYPES)).split(","):
            if dtype in known:
                yield name, dtype


def report(options):
    """Prints what failed and the sums, and returns how many samples failed."""
    counts = collections.defaultdict(collections.Counter)
    lacking = collections.Counter()
    runner = Runner()
    flags = {"whole": options.whole, "dynamic": options.dynamic}
    flags["edges"] = options.edges and options.tiers.split(",")
    samples = options.samples or (EDGE_SAMPLES if options.edges else 0)

    def run(pair):
        return pair, list(runner.outcomes(*pair, samples, flags))

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for (name, dtype), outcomes in pool.map(run, pairs(options)):
            for number, (kind, reason) in enumerate(outcomes):
                counts[name][kind] += 1
                if kind == "unimplemented":
                    lacking[op_of(reason)] += 1
                if kind != "passed" and (kind != "left out" or options.left_out):
                    print(f"{kind}: {name} {dtype} {number}: {reason}", flush=True)
    if options.ops:
        for name, count in counts.items():
            print(f"{name}: {sums(count)}")
    for op, count in lacking.most_common():
        print(f"unimplemented: {op}: {count}")
    whole = sum(counts.values(), collections.Counter())
    is_clean = [not any(c[k] for k in KINDS[1:4]) and c["passed"] > 0 for c in counts.values()]
    print(f"ops: {sum(is_clean)} of {sum(any(c[k] for k in KINDS[:4]) for c in counts.values())}")
    print(f"samples: {sums(whole)}")
    return sum(whole[kind] for kind in ("unimplemented", "wrong", "failed"))


def sums(count):
    return ", ".join(f"{count[kind]} {kind}" for kind in KINDS)


def op_of(reason):
    found = re.search(r"\(([\w.]+)\): (.*)", reason)
    return f"{found[1]}: {found[2]}" if found else reason


def main():
    if sys.argv[1:] == ["--serve"]:
        serve()
        return
    parser = argparse.ArgumentParser(
        prog="./dev conformance torch",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", action="append", help="ops whose name has this word in it")
    parser.add_argument("--dtypes", help=f"{DTYPES} if nothing else is said")
    parser.add_argument("--samples", type=int, default=0, help="of each op and dtype; 0: all")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--whole", action="store_true", help="programs that aren't taken apart")
    parser.add_argument("--dynamic", action="store_true", help="sizes that may change")
    parser.add_argument("--edges", action="store_true", help="variations at the edges of dtypes")
    parser.add_argument("--tiers", default="interpret,jit", help="that run edges")
    parser.add_argument("--ops", action="store_true", help="also the sums of each op")
    parser.add_argument("--left-out", action="store_true", help="also what PyTorch can't export")
    sys.exit(report(parser.parse_args()) > 0)


if __name__ == "__main__":
    main()
