#!/usr/bin/env python3
"""Calls a model on many rows with Ray Data, in two processes that load it once each.

    pip install treadle "ray[data]"
    python examples/ray_data.py examples/words

If a process dies, Ray starts another one and calls it with the batches that were lost.
"""

import os
import sys

import numpy as np
import ray

import treadle


class Scale:
    """Created once in each of Ray's processes."""

    def __init__(self, folder: str) -> None:
        # Each process runs one call at a time; other processes use the other cores.
        self.serve = treadle.load(folder, threads=1).signatures["serving_default"]

    def __call__(self, batch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        x = batch["id"].astype(np.float32)
        return {"id": batch["id"], "scaled": self.serve(x=x)["scaled"]}


def scaled(dataset: ray.data.Dataset, folder: str, processes: int = 2) -> ray.data.Dataset:
    return dataset.map_batches(
        Scale,
        fn_constructor_args=[os.path.abspath(folder)],
        batch_size=1000,
        compute=ray.data.ActorPoolStrategy(size=processes),
    )


def main() -> None:
    ray.init(num_cpus=4, log_to_driver=False)
    result = scaled(ray.data.range(100_000), sys.argv[1])
    print(sum(batch["scaled"].sum(dtype=float) for batch in result.iter_batches()))


if __name__ == "__main__":
    main()
