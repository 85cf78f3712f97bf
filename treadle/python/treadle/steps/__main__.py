"""Checks the steps of all ranks, from files: python -m treadle.steps rank0.json rank1.json ..."""

import argparse
import sys

from .._errors import Error
from ._check import check
from ._step import Step


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m treadle.steps",
        description="Checks the orders of all ranks' steps. Exits with 1 if there are faults.",
    )
    parser.add_argument("files", nargs="+", help="the step of each rank, in order")
    parser.add_argument("--before", nargs="*", help="the same steps before reordering")
    parser.add_argument("--memory", type=int, help="memory limit of a rank in bytes")
    parser.add_argument(
        "--one-stream", action="store_true", help="exchanges of all groups share a stream"
    )
    given = parser.parse_args()
    try:
        steps = dict(enumerate(map(Step.from_file, given.files)))
        before = dict(enumerate(map(Step.from_file, given.before))) if given.before else None
        faults = check(steps, before=before, memory=given.memory, one_stream=given.one_stream)
    except (Error, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
