"""Values of StableHLO's ops beside XLA's: all element types, special values, both tiers.

`./dev conformance xla` runs the programs of stablehlo_samples.py. Each op has a process of its own
with a limit of time; its outcomes are appended to the results file, and what is there already isn't
run again. `--write` runs the few values of the test test_stablehlo_values.py instead, and keeps
what XLA gives for it.

A result passes if it is XLA's, within the sample's tolerance. Zero passes for a subnormal number,
because XLA's CPU code flushes these.
"""

import argparse
import collections
import json
import multiprocessing
import pathlib
import re
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import jax  # noqa: E402
import stablehlo_samples as ss  # noqa: E402
from jax._src.interpreters import mlir  # noqa: E402
from jaxlib.mlir import ir  # noqa: E402

import treadle  # noqa: E402

TIERS = ("interpret", "jit")
EXPECTED = pathlib.Path(__file__).parents[1] / "models" / "stablehlo_values.npz"


def of_xla(text, values):
    jax.config.update("jax_enable_x64", True)
    device = jax.devices("cpu")[0]
    with mlir.make_ir_context(), ir.Location.unknown():
        code = mlir.module_to_bytecode(ir.Module.parse(text))
    program = device.client.compile_and_load(code, [device])
    arrays = program.execute_sharded([jax.device_put(value, device) for value in values])
    shards = arrays.disassemble_into_single_device_arrays()
    return [np.asarray(shard[0]) for shard in shards]


def of_treadle(text, values, tier):
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
        file.write(text)
        file.flush()
        main = treadle.load(file.name, tier=tier, timeout=60).signatures["main"]
    return list(main(*values).values())


# --- one sample ----------------------------------------------------------------------------------


def one_sample(sample):
    """The outcomes of a sample: pairs of a label and what is wrong, or nothing."""
    if len(sample.lines) > 1:
        try:
            return compared(sample, sample.lines)
        except Exception:  # one of the lines fails: each for itself
            pass
    outcomes = []
    for line in sample.lines:
        try:
            outcomes += compared(sample, [line])
        except Exception as error:
            outcomes.append((label(sample, line), f"{type(error).__name__}: {first_line(error)}"))
    return outcomes


def first_line(error):
    return str(error).strip().split("\n")[0][:300]


def label(sample, line):
    return sample.name if len(sample.lines) == 1 else f"{sample.name}: {line.text}"


class XlaFailed(Exception):
    pass


def compared(sample, lines):
    text, values = ss.program([(sample, lines)]), sample.arguments()
    try:
        wanted = of_xla(text, values)
    except Exception as error:
        raise XlaFailed(first_line(error)) from error
    outcomes = [[label(sample, line), None] for line in lines]
    for tier in TIERS:
        for outcome, got, right in zip(
            outcomes, of_treadle(text, values, tier), wanted, strict=True
        ):
            found = ss.difference(got, right, sample)
            if found and outcome[1] is None:
                outcome[1] = f"{tier}: {found}"
    return [tuple(outcome) for outcome in outcomes]


# --- all of them ---------------------------------------------------------------------------------


def run_op(samples, path):
    """Appends outcomes to the file, and before each sample its name: where the process ends."""
    with path.open("a") as file:
        for sample in samples:
            print(json.dumps({"begins": sample.name}), file=file, flush=True)
            print(
                json.dumps({"ends": sample.name, "outcomes": one_sample(sample)}),
                file=file,
                flush=True,
            )


def read(path):
    """Outcomes by sample; a sample that began and didn't end ended the process."""
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    outcomes = {}
    for row in rows:
        if "begins" in row:
            outcomes[row["begins"]] = [(row["begins"], "ended the process, or took too long")]
        else:
            outcomes[row["ends"]] = row["outcomes"]
    return outcomes


def run_all(samples, path, limit):
    by_op = collections.defaultdict(list)
    for sample in samples:
        by_op[sample.op].append(sample)
    context = multiprocessing.get_context("fork")
    for op, of_op in by_op.items():
        left = [sample for sample in of_op if sample.name not in read(path)]
        while left:
            process = context.Process(target=run_op, args=(left, path))
            process.start()
            process.join(limit)
            if process.is_alive():
                process.kill()
                process.join()
            done = read(path)
            if len(rest := [s for s in left if s.name not in done]) == len(left):
                raise SystemExit(f"{op}: the process ended before its first sample")
            left = rest


def report(outcomes):
    flat = [outcome for of_sample in outcomes.values() for outcome in of_sample]
    wrong = [(name, why) for name, why in flat if why]
    without = [why for _, why in wrong if why.startswith("XlaFailed")]
    for name, why in wrong:
        if not why.startswith("XlaFailed"):
            print(f"{name}: {why}")
    print(
        f"{len(flat)} results: {len(flat) - len(wrong)} equal, {len(wrong) - len(without)} differ, "
        f"{len(without)} that XLA can't compile"
    )
    return len(wrong) > len(without)


def write():
    """Keeps XLA's results for the thinned samples, by op."""
    kept = {}
    for sample in ss.few_samples():
        try:
            results = of_xla(ss.program([(sample, sample.lines)]), sample.arguments())
        except Exception:
            continue
        kept[sample.name] = np.frombuffer(b"".join(r.tobytes() for r in results), np.uint8)
    np.savez_compressed(EXPECTED, **kept)
    print(f"{EXPECTED}: {len(kept)} samples")


def main():
    parser = argparse.ArgumentParser(prog="./dev conformance xla", description=__doc__)
    parser.add_argument("--only", default="", help="samples whose name has a match: 'add|i4$'")
    parser.add_argument("--results", type=pathlib.Path, help="a file to continue")
    parser.add_argument("--limit", type=float, default=300, help="seconds for each op")
    parser.add_argument("--write", action="store_true", help="keep XLA's results for the test")
    given = parser.parse_args()
    if given.write:
        return write()
    samples = [s for s in ss.samples() if re.search(given.only, s.name)]
    with tempfile.TemporaryDirectory() as folder:
        path = given.results or pathlib.Path(folder) / "results.jsonl"
        run_all(samples, path, given.limit)
        chosen = {s.name for s in samples}
        return report({name: found for name, found in read(path).items() if name in chosen})


if __name__ == "__main__":
    sys.exit(main())
