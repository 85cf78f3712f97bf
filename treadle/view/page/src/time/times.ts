// Sums of times over the slices of threads, by op or by node.
import { opTracks, type Trace } from "./trace.js";

export interface TimeRow {
  /** Number of a text: an op, or the name of a node. */
  readonly text: number;
  /** For a node: its op. */
  readonly op: number;
  count: number;
  own: number;
  waited: number;
  longest: number;
  /** The slice with the longest own time. */
  slice: number;
}

export interface Times {
  readonly byOp: TimeRow[];
  readonly byNode: TimeRow[];
  /** The sum of all own times. */
  readonly all: number;
}

/** Slices of threads. */
export function isOpSlice(trace: Trace, slice: number): boolean {
  return trace.tracks[trace.rows[trace.row[slice]].track].group === opTracks;
}

/** A sequential iteration has no op: its own time counts for its loop. */
function opSliceAt(trace: Trace, slice: number): number {
  while (slice >= 0 && trace.op[slice] === 0) slice = trace.parent[slice];
  return slice;
}

export function timesOf(trace: Trace): Times {
  const ops = new Map<number, TimeRow>(), nodes = new Map<number, TimeRow>();
  let all = 0;
  for (const row of trace.rows) {
    if (trace.tracks[row.track].group !== opTracks) continue;
    for (let slice = row.first; slice < row.end; ++slice) {
      const owner = opSliceAt(trace, slice);
      if (owner < 0) continue;
      all += trace.own[slice];
      const isWhole = owner === slice;
      addTo(ops, trace.op[owner], trace.op[owner], trace, slice, isWhole);
      addTo(nodes, trace.name[owner], trace.op[owner], trace, slice, isWhole);
    }
  }
  const byOwn = (a: TimeRow, b: TimeRow) => b.own - a.own || a.text - b.text;
  return { byOp: [...ops.values()].sort(byOwn), byNode: [...nodes.values()].sort(byOwn), all };
}

function addTo(
  rows: Map<number, TimeRow>, text: number, op: number, trace: Trace, slice: number, isWhole: boolean,
): void {
  let row = rows.get(text);
  if (!row) rows.set(text, (row = { text, op, count: 0, own: 0, waited: 0, longest: -1, slice }));
  row.own += trace.own[slice];
  if (!isWhole) return;
  ++row.count;
  row.waited += trace.waited[slice];
  if (trace.own[slice] > row.longest) {
    row.longest = trace.own[slice];
    row.slice = slice;
  }
}
