"""Values of each StableHLO op and element type, beside those that './dev conformance xla --write'
kept of XLA."""

import functools
import itertools
import pathlib
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import stablehlo_samples  # noqa: E402
from mlir_programs import runner  # noqa: E402

KEPT = pathlib.Path(__file__).parent / "models" / "stablehlo_values.npz"
FEW = sorted(stablehlo_samples.few_samples(), key=lambda sample: sample.op)
SAMPLES = [(op, list(samples)) for op, samples in itertools.groupby(FEW, lambda sample: sample.op)]


@functools.cache
def kept():
    with np.load(KEPT) as file:
        return dict(file)


@pytest.mark.parametrize("tier", ["interpret", "jit"])
@pytest.mark.parametrize(("op", "samples"), SAMPLES, ids=[op for op, _ in SAMPLES])
def test_values_are_xla_s(tmp_path, op, samples, tier):
    run, wrong = runner(tmp_path, tier=tier, timeout=60), []
    text = stablehlo_samples.program([(sample, sample.lines) for sample in samples])
    results = iter(run(text, *[value for sample in samples for value in sample.arguments()]))
    for sample in samples:
        data = kept()[sample.name].tobytes()
        for line in sample.lines:
            got = next(results)
            wanted = np.frombuffer(data[: got.nbytes], got.dtype).reshape(line.shape)
            data = data[got.nbytes :]
            if found := stablehlo_samples.difference(got, wanted, sample):
                wrong.append(f"{sample.name}: {line.text}: {found}")
        assert not data, f"{sample.name}: the kept results are of another program"
    assert not wrong, "\n".join(wrong)
