// The panels below the timeline: tables of times, waits, the critical path and exchanges.
import { make } from "../elements/element.js";
import { SortedTable } from "../elements/table.js";
import { exchangesOf } from "./computing.js";
import type { CriticalPath } from "./critical.js";
import { count, duration, share, short } from "../texts/texts.js";
import { exchangeTracks, type Trace } from "./trace.js";
import type { TimeRow, Times } from "./times.js";
import type { Wait } from "./waits.js";

export interface PanelListener {
  /** A slice was chosen. */
  show(slice: number): void;
  /** Highlights all slices of an op or a name. */
  only(of: { name: number; op: number } | null, slice: number): void;
}

function bar(part: number, whole: number): HTMLElement {
  const element = make("span", { class: "share" }, share(part, whole));
  element.style.setProperty("--share", String(whole > 0 ? Math.min(1, part / whole) : 0));
  return element;
}

const code = (text: string) => make("code", { title: short(text, 400) }, short(text, 80));

export function timesTable(trace: Trace, times: Times, kind: "op" | "node", listener: PanelListener): HTMLElement {
  const text = (row: TimeRow) => trace.texts[row.text];
  const rows = kind === "op" ? times.byOp : times.byNode;
  const table = new SortedTable<TimeRow>(
    kind === "op" ? "Ops by their own time" : "Nodes by their own time",
    [
      { title: kind === "op" ? "Op" : "Node", key: text, show: (row) => code(text(row)) },
      ...(kind === "node"
        ? [{ title: "Op", key: (row: TimeRow) => trace.texts[row.op], show: (row: TimeRow) => trace.texts[row.op] }]
        : []),
      { title: "Own time", hint: "without what ran within it", key: (r) => r.own, show: (r) => duration(r.own), isNumber: true },
      { title: "Share", hint: "of the time of all threads together", key: (r) => r.own, show: (r) => bar(r.own, times.all), isNumber: true },
      { title: "Runs", key: (r) => r.count, show: (r) => r.count.toLocaleString("en"), isNumber: true },
      { title: "Each", key: (r) => r.own / Math.max(1, r.count), show: (r) => duration(r.own / Math.max(1, r.count)), isNumber: true },
      { title: "Waited", hint: "of its time: for a queue, another run, another rank", key: (r) => r.waited, show: (r) => (r.waited ? duration(r.waited) : ""), isNumber: true },
    ],
    kind === "op" ? 1 : 2,
    (row) => listener.only(kind === "op" ? { name: 0, op: row.text } : { name: row.text, op: 0 }, row.slice),
  );
  table.setRows(rows);
  return table.element;
}

export function waitsTable(trace: Trace, waits: Wait[], waitedFor: (wait: Wait) => string, listener: PanelListener): HTMLElement {
  if (waits.length === 0) return make("p", { class: "panel-note" }, "No op and no thread waited for longer than a microsecond.");
  const name = (slice: number) => trace.texts[trace.name[slice]];
  const table = new SortedTable<Wait>(
    "Waits",
    [
      { title: "Waited", key: (w) => w.time, show: (w) => duration(w.time), isNumber: true },
      { title: "Before", hint: "the op that waited, or that its thread ran next", key: (w) => name(w.slice), show: (w) => code(name(w.slice)) },
      { title: "Who", key: (w) => w.kind, show: (w) => (w.kind === "op" ? "the op" : trackOf(trace, w.slice)) },
      { title: "For", hint: "as far as the graph says", key: waitedFor, show: (w) => short(waitedFor(w), 120) },
      { title: "At", key: (w) => trace.begin[w.slice], show: (w) => duration(trace.begin[w.slice] - trace.from), isNumber: true },
    ],
    0,
    (wait) => listener.show(wait.slice),
  );
  table.setRows(waits);
  return table.element;
}

function trackOf(trace: Trace, slice: number): string {
  return trace.tracks[trace.rows[trace.row[slice]].track].name;
}

interface Step {
  readonly slice: number;
  readonly gap: number;
  readonly cause: string;
}

export function pathTable(trace: Trace, path: CriticalPath, listener: PanelListener): HTMLElement {
  const steps = path.slices.map((slice, i) => ({
    slice,
    gap: i ? Math.max(0, trace.begin[slice] - trace.end[path.slices[i - 1]]) : 0,
    cause: i === 0 ? "" : path.byThread.has(slice) ? "its thread was busy" : "an edge",
  }));
  const length = (slice: number) => trace.end[slice] - trace.begin[slice];
  const table = new SortedTable<Step>(
    "Critical path",
    [
      { title: "At", key: (s) => -trace.begin[s.slice], show: (s) => duration(trace.begin[s.slice] - trace.from), isNumber: true },
      { title: "Node", key: (s) => trace.texts[trace.name[s.slice]], show: (s) => code(trace.texts[trace.name[s.slice]]) },
      { title: "Op", key: (s) => trace.texts[trace.op[s.slice]], show: (s) => trace.texts[trace.op[s.slice]] },
      { title: "Took", key: (s) => length(s.slice), show: (s) => duration(length(s.slice)), isNumber: true },
      { title: "Gap before", hint: "when nothing of the path ran", key: (s) => s.gap, show: (s) => (s.gap > 0.05 ? duration(s.gap) : ""), isNumber: true },
      { title: "Because of", key: (s) => s.cause, show: (s) => s.cause },
    ],
    0,
    (step) => listener.show(step.slice),
  );
  table.setRows(steps);
  const note = make(
    "p", { class: "panel-note" },
    `${count(path.slices.length, "slice")} one after the other took ${duration(path.busy)}, with ` +
      `${duration(path.idle)} between them. Each waited for the one before, by the graph's edges or ` +
      `because its thread was busy; locks, queues and other ranks show as gaps.`,
  );
  return make("div", {}, note, table.element);
}

export function exchangesTable(trace: Trace, listener: PanelListener): HTMLElement {
  const slices: number[] = [];
  for (const row of trace.rows)
    if (trace.tracks[row.track].group === exchangeTracks)
      for (let slice = row.first; slice < row.end; ++slice) slices.push(slice);
  const all = exchangesOf(trace);
  const length = (slice: number) => trace.end[slice] - trace.begin[slice];
  const table = new SortedTable<number>(
    "Exchanges",
    [
      { title: "Exchange", key: (s) => trace.texts[trace.name[s]], show: (s) => code(trace.texts[trace.name[s]]) },
      { title: "Op", key: (s) => trace.texts[trace.op[s]], show: (s) => trace.texts[trace.op[s]] },
      { title: "Took", key: length, show: (s) => duration(length(s)), isNumber: true },
      { title: "Not hidden", hint: "while nothing was computed", key: (s) => length(s) - trace.hidden[s], show: (s) => duration(Math.max(0, length(s) - trace.hidden[s])), isNumber: true },
      { title: "Hidden", key: (s) => trace.hidden[s] / Math.max(1e-9, length(s)), show: (s) => bar(trace.hidden[s], length(s)), isNumber: true },
    ],
    3,
    (slice) => listener.show(slice),
  );
  table.setRows(slices);
  const possible = trace.facts["hidden of what could be"];
  const note = make(
    "p", { class: "panel-note" },
    `${count(all.count, "exchange")} with other ranks took ${duration(all.time)}; ` +
      `${share(all.hidden, all.time)} of that was hidden behind computing` +
      (possible ? `, ${possible} of what could be hidden` : "") +
      ". The rest is hatched in the timeline.",
  );
  return make("div", {}, note, table.element);
}
