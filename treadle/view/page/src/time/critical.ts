// The critical path: the chain of slices that a run had to wait for, one after the other.
//
// Approximations: a trace says when ops ran, not what they waited for. From a slice, the path
// goes back to the one that ended last of those that the graph makes it wait for: slices of nodes
// that send to its node, in its iteration, or over a back edge in the one before. Nodes that leave
// no slices (Switch, Merge, Enter, what became part of another op) are looked through. If the
// graph names no such node, or its name isn't in the graph, the path goes to the slice that ended last
// before it on its thread. So it doesn't see locks, queues, other ranks, nor that no thread was
// free; a wait for these shows as a gap between two slices of the path.
import type { Trace } from "./trace.js";
import { opTracks } from "./trace.js";
import type { Wires } from "./wires.js";

/** Times are rounded: a slice may begin this much before the end of its dependency. */
const slack = 0.002;
/** Nodes looked through from one slice: more are seldom between two that compute. */
const mostNodes = 400;

export interface Cause {
  readonly slice: number;
  /** Whether the graph has the dependency; otherwise it is only the previous slice of the thread. */
  readonly isByEdge: boolean;
}

/** Finds the dependencies of slices. */
export class Causes {
  /** By node: its slices without inner ones, by their end. */
  private readonly slicesOf = new Map<number, Int32Array>();
  /** By slice: the index of its iteration; 0 if it has none. */
  private readonly iterationOf: Int32Array;
  /** The number of the previous iteration, by iteration number, if the previous one has slices. */
  private readonly before = new Map<number, number>();
  private readonly nodeOfText = new Map<number, number>();
  /** By track: slices without inner ones, by their end. */
  private readonly leavesOf = new Map<number, Int32Array>();

  constructor(
    private readonly trace: Trace,
    private readonly wires: Wires,
  ) {
    this.iterationOf = this.numberIterations();
    this.collect();
  }

  node(slice: number): number {
    const text = this.trace.name[slice];
    let node = this.nodeOfText.get(text);
    if (node === undefined) {
      node = this.trace.op[slice] === 0 ? -1 : this.wires.find(this.trace.texts[text]);
      this.nodeOfText.set(text, node);
    }
    return node;
  }

  /** Returns the slice that this one could have waited for; null if none ended before it. */
  of(slice: number): Cause | null {
    const byEdge = this.byEdges(slice);
    if (byEdge >= 0) return { slice: byEdge, isByEdge: true };
    const track = this.trace.rows[this.trace.row[slice]].track;
    const before = this.lastBefore(this.leavesOf.get(track), slice, () => true);
    return before < 0 ? null : { slice: before, isByEdge: false };
  }

  /** The slice without inner ones that ended last. */
  last(): number {
    let last = -1;
    for (const slices of this.leavesOf.values()) {
      const slice = slices.at(-1)!;
      if (last < 0 || this.trace.end[slice] > this.trace.end[last]) last = slice;
    }
    return last;
  }

  private numberIterations(): Int32Array {
    const { trace } = this, numbers = new Map<string, number>();
    const out = new Int32Array(trace.length);
    const numberOf = (key: string) => {
      if (!numbers.has(key)) numbers.set(key, numbers.size + 1);
      return numbers.get(key)!;
    };
    for (let slice = 0; slice < trace.length; ++slice) {
      const around = this.iterationAround(slice);
      if (!around) continue;
      out[slice] = numberOf(`${around.loop}@${around.iteration}`);
      if (around.iteration > 0)
        this.before.set(out[slice], numberOf(`${around.loop}@${around.iteration - 1}`));
    }
    return out;
  }

  /** Those that overlap are named at their slices; those in turn are slices around them. */
  private iterationAround(slice: number): { loop: string; iteration: number } | null {
    const { trace } = this;
    if (trace.loop[slice] !== 0)
      return { loop: `l${trace.loop[slice]}`, iteration: trace.iteration[slice] };
    for (let at = trace.parent[slice]; at >= 0; at = trace.parent[at])
      if (trace.op[at] === 0 && trace.iteration[at] >= 0)
        return { loop: `p${trace.parent[at]}`, iteration: trace.iteration[at] };
    return null;
  }

  private collect(): void {
    const { trace } = this;
    const byNode = new Map<number, number[]>(), byTrack = new Map<number, number[]>();
    const add = (lists: Map<number, number[]>, key: number, slice: number) => {
      const list = lists.get(key);
      if (list) list.push(slice);
      else lists.set(key, [slice]);
    };
    for (const row of trace.rows) {
      if (trace.tracks[row.track].group !== opTracks) continue;
      for (let slice = row.first; slice < row.end; ++slice) {
        if (trace.op[slice] === 0) continue;
        const node = this.node(slice);
        if (node >= 0) add(byNode, node, slice);
        if (trace.hasInner[slice] === 0) add(byTrack, row.track, slice);
      }
    }
    const sorted = (list: number[]) =>
      Int32Array.from(list).sort((a, b) => trace.end[a] - trace.end[b]);
    for (const [node, list] of byNode) this.slicesOf.set(node, sorted(list));
    for (const [track, list] of byTrack) this.leavesOf.set(track, sorted(list));
  }

  /** Returns the last of the slices, ordered by their end, that ended before `slice` began and is meant. */
  private lastBefore(
    slices: Int32Array | undefined, slice: number, isMeant: (candidate: number) => boolean,
  ): number {
    if (!slices) return -1;
    const begin = this.trace.begin[slice] + slack;
    let first = 0, end = slices.length;
    while (first < end) {
      const middle = (first + end) >>> 1;
      if (this.trace.end[slices[middle]] <= begin) first = middle + 1;
      else end = middle;
    }
    // Slices of the same iteration are near, even if the node ran a million times.
    for (let i = first - 1; i >= 0 && i >= first - 64; --i)
      if (slices[i] !== slice && isMeant(slices[i])) return slices[i];
    return -1;
  }

  private byEdges(slice: number): number {
    const node = this.node(slice);
    if (node < 0) return -1;
    let best = -1;
    const seen = new Set([node]), todo: { node: number; isBack: boolean }[] = [{ node, isBack: false }];
    while (todo.length && seen.size < mostNodes) {
      const at = todo.pop()!;
      this.wires.inputs(at.node, (from, isBackEdge) => {
        if (seen.has(from) || seen.size >= mostNodes) return;
        seen.add(from);
        const isBack = at.isBack || isBackEdge;
        const candidate = this.sliceOf(from, slice, isBack);
        if (candidate >= 0) {
          if (best < 0 || this.trace.end[candidate] > this.trace.end[best]) best = candidate;
        } else if (!this.slicesOf.has(from)) todo.push({ node: from, isBack });
      });
    }
    return best;
  }

  /** Returns the last slice of `node` that `slice` could wait for: in the same iteration, or without an
      iteration if it is outside of loops. */
  private sliceOf(node: number, slice: number, isBack: boolean): number {
    const own = this.iterationOf[slice];
    const wanted = isBack ? this.before.get(own) : own;
    return this.lastBefore(this.slicesOf.get(node), slice, (candidate) => {
      const iteration = this.iterationOf[candidate];
      return iteration === wanted || iteration === 0 || own === 0;
    });
  }
}

export interface CriticalPath {
  /** In the order of time. */
  readonly slices: number[];
  /** Slices that follow the previous one because of the thread, not the graph. */
  readonly byThread: Set<number>;
  readonly busy: number;
  /** No slice of the path ran in these gaps. */
  readonly idle: number;
}

export function criticalPath(trace: Trace, causes: Causes): CriticalPath {
  const slices: number[] = [], byThread = new Set<number>(), seen = new Set<number>();
  let busy = 0;
  for (let at = causes.last(); at >= 0 && !seen.has(at); ) {
    seen.add(at);
    slices.push(at);
    busy += trace.end[at] - trace.begin[at];
    const cause = causes.of(at);
    if (cause && !cause.isByEdge) byThread.add(at);
    at = cause ? cause.slice : -1;
  }
  slices.reverse();
  const length = slices.length ? trace.end[slices.at(-1)!] - trace.begin[slices[0]] : 0;
  return { slices, byThread, busy, idle: Math.max(0, length - busy) };
}
