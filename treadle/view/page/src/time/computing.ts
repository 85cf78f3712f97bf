// The times at which any thread computed, which exchanges with other ranks may overlap with. Same
// rule as in treadle/session/TraceText.cpp: ops, except those that run others or wait for
// exchanges.
import { lowerBound } from "./columns.js";
import { exchangeTracks, opTracks, type Trace } from "./trace.js";

/** Spans that don't touch, in their order. */
export interface Spans {
  readonly begin: Float64Array;
  readonly end: Float64Array;
}

export function computingSpans(trace: Trace): Spans {
  const waiting = new Set<number>();
  const slicesOf = (group: number, visit: (slice: number) => void) => {
    for (const row of trace.rows)
      if (trace.tracks[row.track].group === group)
        for (let slice = row.first; slice < row.end; ++slice) visit(slice);
  };
  slicesOf(exchangeTracks, (slice) => waiting.add(trace.op[slice]));
  const slices: number[] = [];
  slicesOf(opTracks, (slice) => {
    const op = trace.op[slice];
    if (op !== 0 && trace.hasInner[slice] === 0 && !waiting.has(op)) slices.push(slice);
  });
  return united(trace, slices);
}

function united(trace: Trace, slices: number[]): Spans {
  slices.sort((a, b) => trace.begin[a] - trace.begin[b]);
  const begin = new Float64Array(slices.length), end = new Float64Array(slices.length);
  let length = 0;
  for (const slice of slices) {
    const from = trace.begin[slice], to = trace.end[slice];
    if (length && from <= end[length - 1]) end[length - 1] = Math.max(end[length - 1], to);
    else {
      begin[length] = from;
      end[length++] = to;
    }
  }
  return { begin: begin.subarray(0, length), end: end.subarray(0, length) };
}

/** The parts of [from, to) that lie in none of the spans. */
export function gaps(spans: Spans, from: number, to: number): [number, number][] {
  const out: [number, number][] = [];
  let at = from;
  // The first span that doesn't end before `from`; ends ascend as begins do.
  for (let i = lowerBound(spans.end, 0, spans.end.length, from); i < spans.begin.length; ++i) {
    if (spans.begin[i] >= to) break;
    if (spans.begin[i] > at) out.push([at, spans.begin[i]]);
    at = Math.max(at, spans.end[i]);
  }
  if (at < to) out.push([at, to]);
  return out;
}

export interface Exchanges {
  readonly count: number;
  /** Sums over exchanges. */
  readonly time: number;
  readonly hidden: number;
}

export function exchangesOf(trace: Trace): Exchanges {
  let count = 0, time = 0, hidden = 0;
  for (const row of trace.rows) {
    if (trace.tracks[row.track].group !== exchangeTracks) continue;
    count += row.end - row.first;
    for (let slice = row.first; slice < row.end; ++slice) {
      time += trace.end[slice] - trace.begin[slice];
      hidden += trace.hidden[slice];
    }
  }
  return { count, time, hidden };
}
