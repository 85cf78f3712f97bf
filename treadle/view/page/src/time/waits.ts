// Waits: times in which an op or a thread did nothing, with their causes.
import type { Causes } from "./critical.js";
import { opTracks, waitTracks, type Trace } from "./trace.js";

export interface Wait {
  /** The slice that waited, or that ran when the thread's wait was over. */
  readonly slice: number;
  readonly time: number;
  /** `op`: the op itself waited, for a queue or another rank. `thread`: nothing ran before it. */
  readonly kind: "op" | "thread";
  /** The slice that ended the wait according to the graph, or -1. */
  readonly cause: number;
}

/** The longest waits, longest first. */
export function longestWaits(trace: Trace, causes: Causes, most = 100): Wait[] {
  const waits: Omit<Wait, "cause">[] = [];
  for (const row of trace.rows) {
    const { group } = trace.tracks[row.track];
    if (group !== opTracks && group !== waitTracks) continue;
    for (let slice = row.first; slice < row.end; ++slice) {
      const waited = trace.waited[slice];
      if (waited > 0) waits.push({ slice, time: waited, kind: "op" });
      const gap = group === opTracks && row.depth === 0 && slice > row.first ? trace.begin[slice] - trace.end[slice - 1] : 0;
      if (gap > 1) waits.push({ slice: leafAt(trace, slice), time: gap, kind: "thread" });
    }
  }
  waits.sort((a, b) => b.time - a.time);
  return waits.slice(0, most).map((wait) => ({ ...wait, cause: causeOf(wait, causes) }));
}

function causeOf(wait: Omit<Wait, "cause">, causes: Causes): number {
  if (wait.kind === "op") return -1;
  const cause = causes.of(wait.slice);
  return cause?.isByEdge ? cause.slice : -1;
}

/** The first slice within it that contains none. */
function leafAt(trace: Trace, slice: number): number {
  for (;;) {
    if (trace.hasInner[slice] === 0) return slice;
    const track = trace.tracks[trace.rows[trace.row[slice]].track];
    const depth = trace.rows[trace.row[slice]].depth + 1;
    const inner = trace.rows[track.firstRow + depth];
    let first = inner.first, end = inner.end;
    while (first < end) {
      const middle = (first + end) >>> 1;
      if (trace.begin[middle] < trace.begin[slice] - 0.002) first = middle + 1;
      else end = middle;
    }
    if (first >= inner.end || trace.parent[first] !== slice) return slice;
    slice = first;
  }
}
