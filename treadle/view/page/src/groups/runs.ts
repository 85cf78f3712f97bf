// Cuts a flat group of thousands into runs that follow each other, where few edges cross.
import { layersOf } from "../layout/place.js";

export interface Run {
  /** Places of children; empty if there are parts. */
  members: number[];
  parts?: Run[];
}

/** Splits nodes into nested runs of about `fanout` members each. Edges that aren't on a cycle lead
    forwards, so that runs are read from top to bottom. */
export function cutIntoRuns(count: number, from: Int32Array, to: Int32Array, fanout: number): Run[] {
  const layer = layersOf(count, from, to);
  const order = Uint32Array.from({ length: count }, (_, i) => i);
  order.sort((a, b) => layer[a] - layer[b] || a - b);
  const place = new Uint32Array(count);
  order.forEach((member, i) => { place[member] = i; });
  const crossing = crossings(count, from, to, place);
  const levels = Math.max(2, Math.ceil(Math.log(count) / Math.log(fanout)));
  const share = Math.ceil(count ** (1 / levels));
  const cut = (begin: number, end: number, level: number): Run[] => {
    const runs: Run[] = [];
    const size = share ** level;
    while (begin < end) {
      const next = end - begin <= size * 1.25 ? end : quietest(crossing, begin + size, size / 5);
      runs.push(level === 1
        ? { members: Array.from(order.subarray(begin, next)) }
        : { members: [], parts: cut(begin, next, level - 1) });
      begin = next;
    }
    return runs;
  };
  return cut(0, count, levels - 1);
}

/** Returns the number of edges that cross each place between two members. */
function crossings(count: number, from: Int32Array, to: Int32Array, place: Uint32Array): Int32Array {
  const crossing = new Int32Array(count + 2);
  for (let edge = 0; edge < from.length; ++edge) {
    const a = place[from[edge]];
    const b = place[to[edge]];
    ++crossing[Math.min(a, b) + 1];
    --crossing[Math.max(a, b) + 1];
  }
  for (let i = 1; i < crossing.length; ++i) crossing[i] += crossing[i - 1];
  return crossing;
}

function quietest(crossing: Int32Array, middle: number, reach: number): number {
  let best = Math.round(middle);
  for (let i = Math.ceil(middle - reach); i <= middle + reach; ++i)
    if (crossing[i] < crossing[best]) best = i;
  return best;
}
