#!/usr/bin/env python3
"""Serves a model with Ray Serve: two processes that load it once each.

    pip install treadle "ray[serve]"
    python examples/ray_serve.py examples/words
    curl localhost:8000 -d '{"x": [1, 2]}'

If a process dies, Ray Serve starts another one.
"""

import asyncio
import os
import sys
from typing import Any

import ray
from ray import serve
from starlette.requests import Request
from starlette.responses import JSONResponse

import treadle


@serve.deployment(num_replicas=2, max_ongoing_requests=8)
class Words:
    """Created once in each of Ray's processes."""

    def __init__(self, folder: str) -> None:
        self.serve = treadle.load(folder).signatures["serving_default"]

    async def __call__(self, request: Request) -> JSONResponse:
        try:
            # Calls of a replica run at the same time.
            return JSONResponse(await asyncio.to_thread(self.answer, await request.json()))
        except (treadle.InvalidArgumentError, TypeError, ValueError) as error:
            return JSONResponse({"error": str(error)}, status_code=400)

    def answer(self, inputs: dict[str, Any]) -> dict[str, Any]:
        return {name: array.tolist() for name, array in self.serve(**inputs).items()}


def main() -> None:
    ray.init(log_to_driver=False)
    serve.run(Words.bind(os.path.abspath(sys.argv[1])), blocking=True)


if __name__ == "__main__":
    main()
