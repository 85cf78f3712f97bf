// A trace as columns: slices of time, sorted by row, then by begin. A row is one depth of one
// track, so its slices never overlap, and the visible ones are found by bisection.
import { floats, integers } from "./columns.js";
import { readTrace, type TraceEvent } from "./events.js";

/** The groups of tracks that `treadle run --trace` writes, by their number (pid). */
export const opTracks = 1, iterationTracks = 2, exchangeTracks = 3, waitTracks = 4;

export interface Track {
  readonly group: number;
  readonly number: number;
  readonly name: string;
  readonly firstRow: number;
  /** One for each depth. */
  readonly rows: number;
}

export interface Row {
  readonly track: number;
  readonly depth: number;
  /** Slices from `first` to before `end`. */
  readonly first: number;
  readonly end: number;
}

export interface Trace {
  readonly length: number;
  /** By slice, times in microseconds. */
  readonly begin: Float64Array;
  readonly end: Float64Array;
  /** The time that no nested slice took. */
  readonly own: Float64Array;
  readonly waited: Float64Array;
  /** For an exchange: its time while anything was computed. */
  readonly hidden: Float64Array;
  /** By slice, numbers of texts; 0: none. */
  readonly name: Int32Array;
  readonly op: Int32Array;
  readonly loop: Int32Array;
  /** -1: none is known. */
  readonly iteration: Int32Array;
  /** The slice around it, or -1. */
  readonly parent: Int32Array;
  /** Whether it contains slices. */
  readonly hasInner: Uint8Array;
  readonly row: Int32Array;

  readonly texts: readonly string[];
  readonly tracks: readonly Track[];
  readonly rows: readonly Row[];
  readonly groupNames: ReadonlyMap<number, string>;
  readonly facts: Readonly<Record<string, string>>;
  /** From the first begin to the last end. */
  readonly from: number;
  readonly to: number;
}

/** Sequential iterations are slices of this name, without an op. */
const iterationName = /^iteration (\d+)$/;

/** Times are rounded to a nanosecond, each by itself. */
const rounding = 0.0015;

class Texts {
  readonly list = [""];
  private readonly numbers = new Map([["", 0]]);

  number(text: unknown): number {
    if (typeof text !== "string") return 0;
    let number = this.numbers.get(text);
    if (number === undefined) {
      number = this.list.push(text) - 1;
      this.numbers.set(text, number);
    }
    return number;
  }
}

export class TraceBuilder {
  private readonly begin = floats();
  private readonly end = floats();
  private readonly waited = floats();
  private readonly hidden = floats();
  private readonly name = integers();
  private readonly op = integers();
  private readonly loop = integers();
  private readonly iteration = integers();
  private readonly track = integers();
  private readonly texts = new Texts();
  private readonly groupNames = new Map<number, string>();
  private readonly trackNames = new Map<string, string>();
  private readonly trackNumbers = new Map<string, number>();
  private readonly trackList: { group: number; number: number }[] = [];
  /** The last slice's track, which is mostly the next one's too. */
  private last = { group: NaN, number: NaN, track: -1 };

  add(event: TraceEvent): void {
    const group = Number(event.pid ?? 0), number = Number(event.tid ?? 0);
    if (event.ph === "M") this.addName(event, group, number);
    else if (event.ph === "X" && Number.isFinite(event.ts)) this.addSlice(event, group, number);
  }

  private addName(event: TraceEvent, group: number, number: number): void {
    const name = String(event.args?.name ?? "");
    if (event.name === "process_name") this.groupNames.set(group, name);
    if (event.name === "thread_name") this.trackNames.set(`${group}/${number}`, name);
  }

  private addSlice(event: TraceEvent, group: number, number: number): void {
    const args = event.args ?? {}, begin = event.ts!;
    const iteration = args.op ? args.iteration : iterationName.exec(event.name ?? "")?.[1];
    this.begin.push(begin);
    this.end.push(begin + Math.max(0, event.dur ?? 0));
    // A slice without a thread is only a wait.
    this.waited.push(group === waitTracks ? (event.dur ?? 0) : (args.waited_us ?? 0));
    this.hidden.push(args.hidden_us ?? 0);
    this.name.push(this.texts.number(event.name));
    this.op.push(this.texts.number(args.op));
    this.loop.push(this.texts.number(args.loop));
    this.iteration.push(iteration === undefined ? -1 : Number(iteration));
    this.track.push(this.trackOf(group, number));
  }

  private trackOf(group: number, number: number): number {
    if (this.last.group === group && this.last.number === number) return this.last.track;
    const key = `${group}/${number}`;
    let track = this.trackNumbers.get(key);
    if (track === undefined) {
      track = this.trackList.push({ group, number }) - 1;
      this.trackNumbers.set(key, track);
    }
    this.last = { group, number, track };
    return track;
  }

  build(facts: Record<string, string>): Trace {
    const place = this.placesOfTracks();
    const length = this.begin.length;
    const nested = this.nest(this.orderByBegin(place), place);
    const { order, rows, tracks } = this.orderByRow(nested, place);
    const at = new Uint32Array(length); // where the slice of a number stands
    for (let i = 0; i < length; ++i) at[order[i]] = i;
    const parent = new Int32Array(length), hasInner = new Uint8Array(length);
    for (let i = 0; i < length; ++i) {
      const around = nested.parent[order[i]];
      parent[i] = around < 0 ? -1 : at[around];
      if (around >= 0) hasInner[parent[i]] = 1;
    }
    const begin = this.begin.ordered(order), end = this.end.ordered(order);
    const row = new Int32Array(length);
    rows.forEach((r, number) => row.fill(number, r.first, r.end));
    const own = new Float64Array(length);
    for (let i = 0; i < length; ++i) own[i] = nested.own[order[i]];
    return {
      length, begin, end, own, parent, hasInner, row, rows, tracks, facts,
      waited: this.waited.ordered(order),
      hidden: this.hidden.ordered(order),
      name: this.name.ordered(order),
      op: this.op.ordered(order),
      loop: this.loop.ordered(order),
      iteration: this.iteration.ordered(order),
      texts: this.texts.list,
      groupNames: this.groupNames,
      from: begin.reduce((a, b) => Math.min(a, b), length ? Infinity : 0),
      to: end.reduce((a, b) => Math.max(a, b), length ? -Infinity : 0),
    };
  }

  /** By track in the order of the first slices: its place in the order of the page. */
  private placesOfTracks(): Int32Array {
    const order = this.trackList.map((_, i) => i);
    order.sort((a, b) => {
      const x = this.trackList[a], y = this.trackList[b];
      return x.group - y.group || x.number - y.number;
    });
    const place = new Int32Array(order.length);
    order.forEach((track, i) => (place[track] = i));
    return place;
  }

  /** Numbers of slices, by track, begin, and the longer one first. */
  private orderByBegin(place: Int32Array): Uint32Array {
    const order = new Uint32Array(this.begin.length);
    for (let i = 0; i < order.length; ++i) order[i] = i;
    return order.sort(
      (a, b) =>
        place[this.track.at(a)] - place[this.track.at(b)] ||
        this.begin.at(a) - this.begin.at(b) ||
        this.end.at(b) - this.end.at(a) ||
        b - a, // an enclosing slice ends, and is written, after the inner one
    );
  }

  /** By number of a slice: the one around it, its depth, and its own time. */
  private nest(order: Uint32Array, place: Int32Array) {
    const parent = new Int32Array(order.length).fill(-1);
    const depth = new Uint16Array(order.length), own = new Float64Array(order.length);
    const around: number[] = [];
    let track = -1;
    for (const i of order) {
      if (place[this.track.at(i)] !== track) {
        track = place[this.track.at(i)];
        around.length = 0;
      }
      const begin = this.begin.at(i), end = this.end.at(i);
      while (around.length && this.end.at(around.at(-1)!) <= begin + rounding / 2) around.pop();
      own[i] = end - begin;
      depth[i] = around.length;
      if (around.length) {
        const outer = around.at(-1)!;
        parent[i] = outer;
        own[outer] = Math.max(0, own[outer] - (Math.min(end, this.end.at(outer)) - begin));
      }
      around.push(i);
    }
    return { parent, depth, own, order };
  }

  /** Distributes elements that are sorted by begin to rows, by counting. */
  private orderByRow(nested: { depth: Uint16Array; order: Uint32Array }, place: Int32Array) {
    const names = this.trackNames;
    const depths = new Int32Array(this.trackList.length);
    for (const i of nested.order) {
      const t = place[this.track.at(i)];
      depths[t] = Math.max(depths[t], nested.depth[i] + 1);
    }
    const tracks: Track[] = [];
    let firstRow = 0;
    const listed = this.trackList.map((track, i) => ({ ...track, place: place[i] }));
    listed.sort((a, b) => a.place - b.place);
    for (const { group, number, place: at } of listed) {
      const name = names.get(`${group}/${number}`) ?? `track ${number}`;
      tracks.push({ group, number, name, firstRow, rows: depths[at] });
      firstRow += depths[at];
    }
    const rowOf = (i: number) => tracks[place[this.track.at(i)]].firstRow + nested.depth[i];
    const first = new Uint32Array(firstRow + 1);
    for (const i of nested.order) ++first[rowOf(i) + 1];
    for (let r = 0; r < firstRow; ++r) first[r + 1] += first[r];
    const next = first.slice(), order = new Uint32Array(nested.order.length);
    for (const i of nested.order) order[next[rowOf(i)]++] = i;
    const rows: Row[] = [];
    tracks.forEach((track, t) => {
      for (let d = 0; d < track.rows; ++d) {
        const r = track.firstRow + d;
        rows.push({ track: t, depth: d, first: first[r], end: first[r + 1] });
      }
    });
    return { order, rows, tracks };
  }
}

/** Processes everything; `progress` is called between chunks and may wait, so that the page stays responsive. */
export async function buildTrace(
  bytes: Uint8Array,
  progress: (done: number) => Promise<void> | void = () => {},
): Promise<Trace> {
  const source = readTrace(bytes), builder = new TraceBuilder();
  for (const { events, done } of source.pieces()) {
    for (const event of events) builder.add(event);
    await progress(done);
  }
  return builder.build(source.facts);
}

