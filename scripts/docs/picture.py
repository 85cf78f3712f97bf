"""Draws the picture of docs/loops.md: a loop's iterations, one after the other and overlapping.

    ./dev python scripts/docs/picture.py docs/pictures/overlap.svg

Both halves are traces of the same graph. Each iteration takes a job, asks a service for 20 ms, and
writes down its answer; jobs and answers keep their order.
"""

import json
import pathlib
import sys
import time
from typing import NamedTuple

import treadle

ITERATIONS, AT_ONCE = 8, 4
SECONDS = {"Take": 0.004, "Ask": 0.02, "Write": 0.004}
EFFECTS = {"Take": {"jobs": "write"}, "Ask": "none", "Write": {"answers": "write"}}

# Pixels.
ROW, BAR, LEFT, TOP, WIDTH, GAP = 13, 9, 12, 34, 736, 34

STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #24292f }
  .axis { stroke: #d0d7de } .Take { fill: #8250df } .Ask { fill: #54aeff } .Write { fill: #2da44e }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .axis { stroke: #3d444d } .Take { fill: #a371f7 }
    .Ask { fill: #388bfd } .Write { fill: #3fb950 }
  }
"""


class Slice(NamedTuple):
    op: str
    iteration: int
    begin: float  # milliseconds
    end: float


def wait(seconds):
    def run(job):
        time.sleep(seconds)
        return job

    return run


def write_graph():
    g = treadle.Builder()
    with g.while_loop(i=0, parallel_iterations=AT_ONCE) as loop:
        loop.condition(loop.i < ITERATIONS)
        value = loop.i
        for op in SECONDS:
            value = g.op(op, [value], outputs=["int32"], name=op)
        loop.i += 1
    return g.build(), loop.i.name


def timeline(graph, fetch, overlap):
    """Returns each op's executions, one an iteration, in the order of their start."""
    session = treadle.Session(graph, loop_overlap=overlap, trace=True)
    session.run(fetch)
    events = [e for e in json.loads(session.trace())["traceEvents"] if e["ph"] == "X"]
    slices, seen = [], dict.fromkeys(SECONDS, 0)
    for event in sorted(events, key=lambda event: event["ts"]):
        op = event["args"].get("op")
        if op in SECONDS:
            iteration = event["args"].get("iteration", seen[op])
            seen[op] += 1
            begin = event["ts"] / 1000
            slices.append(Slice(op, iteration, begin, begin + event["dur"] / 1000))
    first = min(part.begin for part in slices)
    return [part._replace(begin=part.begin - first, end=part.end - first) for part in slices]


def duration(slices):
    return max(part.end for part in slices)


def panel(title, slices, top, scale):
    yield f'<text x="{LEFT}" y="{top - 10}">{title}: {duration(slices):.0f} ms</text>'
    height = ITERATIONS * ROW
    yield f'<path class="axis" d="M{LEFT} {top - 2}v{height}h{WIDTH}" fill="none"/>'
    for part in slices:
        x, y = LEFT + part.begin * scale, top + part.iteration * ROW
        width = (part.end - part.begin) * scale
        yield (
            f'<rect class="{part.op}" x="{x:.1f}" y="{y}" width="{width:.1f}" height="{BAR}" '
            f'rx="2"><title>{part.op}, iteration {part.iteration}</title></rect>'
        )


def legend():
    texts = {"Take": "take a job, in order", "Ask": "ask a service", "Write": "write, in order"}
    for place, (op, text) in enumerate(texts.items()):
        x = LEFT + WIDTH - 440 + 155 * place
        yield f'<rect class="{op}" x="{x}" y="14" width="10" height="10" rx="2"/>'
        yield f'<text x="{x + 16}" y="24">{text}</text>'


def picture(in_turns, overlapping):
    scale = WIDTH / duration(in_turns)
    second = TOP + ITERATIONS * ROW + GAP
    lines = [
        *legend(),
        *panel("One after the other", in_turns, TOP, scale),
        *panel("Overlapping", overlapping, second, scale),
    ]
    width, height = LEFT * 2 + WIDTH, second + ITERATIONS * ROW + 8
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img">\n<title>Eight iterations of a loop, one after the other '
        f"and overlapping</title>\n<style>{STYLE}</style>\n" + "\n".join(lines) + "\n</svg>\n"
    )


def draw():
    for op, seconds in SECONDS.items():
        treadle.register_op(op, wait(seconds), EFFECTS[op])
    graph, fetch = write_graph()
    return picture(*(timeline(graph, fetch, overlap) for overlap in ("off", "auto")))


if __name__ == "__main__":
    pathlib.Path(sys.argv[1]).write_text(draw())
