"""Programs in MLIR's text form: written, run, and their results compared."""

import textwrap
import threading

import numpy as np

import treadle


def function(body, arguments, results):
    """@main of a body that takes %a, %b, ... and gives %r, or %r0, %r1, ... of several results."""
    names = ["%r"] if len(results) == 1 else [f"%r{i}" for i in range(len(results))]
    head = ", ".join(f"%{chr(97 + i)}: tensor<{t}>" for i, t in enumerate(arguments))
    types = ", ".join(f"tensor<{t}>" for t in results)
    return (
        f"func.func @main({head}) -> ({types}) {{\n{textwrap.indent(textwrap.dedent(body), '  ')}\n"
        f"  return {', '.join(names)} : {types}\n}}\n"
    )


def runner(folder, **options):
    """run(TEXT, VALUES...): the list of what @main returns, loaded from a file in `folder`."""

    def run(text, *values):
        path = folder / "program.mlir"
        path.write_text(text)
        return list(treadle.load(path, **options).signatures["main"](*values).values())

    return run


def run_grid(tmp_path, text, values, replicas=1, partitions=1):
    """Returns the results of each rank for its values, by rank."""
    count = replicas * partitions
    path = tmp_path / "grid.mlir"
    path.write_text(
        f"module attributes {{mhlo.num_replicas = {replicas} : i32, "
        f"mhlo.num_partitions = {partitions} : i32}} {{\n{text}}}\n"
    )
    ranks = treadle.Communicator.simulated(count, timeout=20)
    results = [None] * count

    def run(rank):
        try:
            session = treadle.Session(treadle.Graph.from_file(path), communicator=ranks[rank])
            feeds = {f"arg{i}:0": value for i, value in enumerate(values[rank])}
            results[rank] = session.run("result:0", feeds)
        except treadle.Error as error:
            results[rank] = error

    threads = [threading.Thread(target=run, args=[rank]) for rank in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        if isinstance(result, treadle.Error):
            raise result
    return results


def same(got, *wanted, rtol=1e-5, atol=1e-6):
    assert len(got) == len(wanted)
    for value, expected in zip(got, wanted, strict=True):
        expected = np.asarray(expected)
        assert value.dtype == expected.dtype and value.shape == expected.shape
        np.testing.assert_allclose(value, expected, rtol=rtol, atol=atol)
