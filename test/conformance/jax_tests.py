#!/usr/bin/env python3
"""Runs JAX's own tests with Treadle as the device.

FOLDER is a checkout of JAX, of the version that is installed. FILES are names of files in its
folder tests; without any, those that are about what a device does.

    ./dev conformance jax FOLDER
    ./dev conformance jax FOLDER lax_test nn_test --only Conv
    ./dev conformance jax FOLDER --beside-cpu       on XLA's CPU, too

The tests take the device for a CPU: they leave out what they leave out there. Prints passed,
failed and skipped of each file, and each failure in one line. A test that ends its process counts
as failed. The exit status is 1 if a test failed.
"""

import argparse
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET

FILES = """\
    lax_test lax_numpy_test lax_numpy_indexing_test lax_numpy_operators_test lax_numpy_reducers_test
    lax_numpy_einsum_test lax_numpy_setops_test lax_numpy_ufuncs_test lax_numpy_vectorize_test
    lax_control_flow_test lax_vmap_test lax_vmap_op_test lax_autodiff_test lax_scipy_test
    lax_scipy_special_functions_test lax_scipy_sparse_test linalg_test random_test random_lax_test
    scipy_fft_test scipy_interpolate_test scipy_ndimage_test scipy_optimize_test scipy_signal_test
    scipy_spatial_test scipy_stats_test fft_test nn_test ode_test sparse_test sparse_bcoo_bcsr_test
    sparsify_test lobpcg_test qdwh_test svd_test eigh_test jet_test image_test polynomial_test
    custom_api_test custom_linear_solve_test custom_root_test dtypes_test x64_context_test
    random_impl_test stateful_rng_test batching_test core_test checkify_test mutable_array_test
    api_test export_test python_callback_test buffer_callback_test debugging_primitives_test
    ffi_test array_test multi_device_test pmap_test pjit_test shard_map_test
""".split()
KINDS = ("passed", "failed", "skipped")


class Test:
    """The outcome of one test."""

    def __init__(self, case):
        self.name = f"{case.get('classname', '').rsplit('.')[-1]}.{case.get('name')}"
        self.kind, self.reason = "passed", ""
        for child in case:
            if child.tag in ("failure", "error"):
                self.kind, self.reason = "failed", last_line(child)
            elif child.tag == "skipped":
                self.kind, self.reason = "skipped", child.get("message", "")


def last_line(failure):
    """The exception of a failure, in one line."""
    text = failure.text or failure.get("message") or ""
    lines = [line[4:] for line in text.splitlines() if re.match(r"E   \S", line)]
    return (lines or [failure.get("message") or "it says nothing"])[0][:300]


def run(file, platform, options):
    """The tests of a file, run on a platform."""
    with tempfile.TemporaryDirectory() as scratch:
        report = pathlib.Path(scratch, "report.xml")
        command = [
            sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", "-p", "as_cpu",
            "--tb=short", "-n", str(options.jobs), "--timeout", "300", f"--junitxml={report}",
            *(["-k", options.only] if options.only else []), f"tests/{file}.py",
        ]  # fmt: skip
        paths = [str(pathlib.Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
        environment = {
            **os.environ, "JAX_PLATFORMS": platform, "PYTHONPATH": os.pathsep.join(paths),
        }  # fmt: skip
        done = subprocess.run(
            command, cwd=options.folder, env=environment, capture_output=True, text=True
        )
        if not report.exists():
            sys.exit(f"{file} can't be run:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return [Test(case) for case in ET.parse(report).iter("testcase")]


def counts_of(tests):
    return collections.Counter(test.kind for test in tests)


def line_of(name, counts):
    return f"{name}: " + ", ".join(f"{counts[kind]} {kind}" for kind in KINDS)


def share_line(here, there):
    """Returns the share of the other device's passing tests that pass here."""
    passing = {test.name for test in there if test.kind == "passed"}
    also = sum(test.kind == "passed" for test in here if test.name in passing)
    share = 100 * also / len(passing) if passing else 100
    return f"{also} of the {len(passing)} that pass on XLA's CPU pass ({share:.1f}%)"


def main():
    parser = argparse.ArgumentParser(
        prog="./dev conformance jax",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("files", nargs="*", metavar="FILES")
    parser.add_argument("--only", help="tests whose name has this word in it")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at once")
    parser.add_argument("--beside-cpu", action="store_true", help="run them on XLA's CPU as well")
    options = parser.parse_args()
    tests = options.folder / "tests"
    if not (tests / "lax_test.py").exists():
        import jax

        parser.error(f"{tests} has no lax_test.py: name a checkout of JAX, jax-v{jax.__version__}")
    files = [name.removesuffix(".py") for name in options.files] or FILES
    for file in files:
        if not (tests / f"{file}.py").exists():
            parser.error(f"{tests} has no {file}.py")

    here, there = [], []
    for file in files:
        found = run(file, "treadle,cpu", options)
        for test in found:
            if test.kind == "failed":
                print(f"failed: {file} {test.name}: {test.reason}")
        print(line_of(file, counts_of(found)), flush=True)
        here += found
        if options.beside_cpu:
            on_cpu = run(file, "cpu", options)
            print(line_of(f"{file} on XLA's CPU", counts_of(on_cpu)))
            print(f"  {share_line(found, on_cpu)}", flush=True)
            there += on_cpu
    print(line_of("all", counts_of(here)))
    if there:
        print(share_line(here, there))
    sys.exit(counts_of(here)["failed"] > 0)


if __name__ == "__main__":
    main()
