import assert from "node:assert/strict";
import { test } from "node:test";
import { computingSpans, exchangesOf, gaps } from "./computing.js";
import { Causes, criticalPath } from "./critical.js";
import { readTrace } from "./events.js";
import { timesOf } from "./times.js";
import { buildTrace, type Trace } from "./trace.js";
import { longestWaits } from "./waits.js";
import { findNode, type Wires } from "./wires.js";

const bytes = (text: string) => new TextEncoder().encode(text);

interface Slice {
  name: string;
  op?: string;
  ts: number;
  dur: number;
  tid?: number;
  pid?: number;
  args?: object;
}

function traceOf(slices: Slice[], facts = "{}"): Promise<Trace> {
  const events = slices.map((s) =>
    JSON.stringify({
      ph: "X", pid: s.pid ?? 1, tid: s.tid ?? 0, name: s.name, ts: s.ts, dur: s.dur,
      args: { ...(s.op ? { op: s.op } : {}), ...s.args },
    }),
  );
  return buildTrace(bytes(`{"otherData":${facts},"traceEvents":[\n${events.join(",\n")}\n]}\n`));
}

const namesOf = (trace: Trace, slices: Iterable<number>) =>
  [...slices].map((slice) => trace.texts[trace.name[slice]]);

/** A graph in text: `b: a` says that a sends to b; `*a` does so to the next iteration. */
function wiresOf(...lines: string[]): Wires {
  const names = lines.map((line) => line.split(":")[0]);
  return {
    find: (name) => names.indexOf(name),
    inputs(node, visit) {
      for (const input of lines[node].split(":")[1].split(" ").filter(Boolean))
        visit(names.indexOf(input.replace("*", "")), input.startsWith("*"));
    },
  };
}

test("events are read in pieces, whatever stands in their names", async () => {
  const names = ['a"]}', "b\\", "{[", "ü\u2028", "</script>"];
  const trace = await traceOf(names.map((name, i) => ({ name, op: "X", ts: i * 10, dur: 5 })));
  assert.deepEqual(namesOf(trace, Array(5).keys()), names);
});

test("many pieces give what one gives", async () => {
  const slices = Array.from({ length: 30000 }, (_, i) => ({ name: `n${i % 7}`, op: "Add", ts: i, dur: 1 }));
  const trace = await traceOf(slices);
  assert.equal(trace.length, 30000);
  assert.equal(trace.rows.length, 1);
  assert.equal(trace.to, 30000);
});

test("a list of events alone, and an empty one, are traces", async () => {
  assert.equal((await buildTrace(bytes('[{"ph":"X","name":"a","ts":1,"dur":2}]'))).length, 1);
  const empty = await buildTrace(bytes('{"traceEvents":[]}'));
  assert.deepEqual([empty.length, empty.from, empty.to], [0, 0, 0]);
});

test("facts are read", () => {
  const source = readTrace(bytes('{"otherData":{"slices left out":"3"},"traceEvents":[]}'));
  assert.equal(source.facts["slices left out"], "3");
});

test("a file that isn't a trace gives a reason", async () => {
  await assert.rejects(buildTrace(bytes('{"nodes":[]}')), /no list of events/);
  await assert.rejects(buildTrace(bytes('{"traceEvents":[{"ph":"X"')), /ends within/);
});

test("slices stand within each other by time", async () => {
  const trace = await traceOf([
    { name: "more", op: "Greater", ts: 1, dur: 2 },
    { name: "dec", op: "Sub", ts: 4, dur: 1 },
    { name: "iteration 0", ts: 1, dur: 5 },
    { name: "loop", op: "While", ts: 0, dur: 10 },
    { name: "after", op: "Neg", ts: 10, dur: 1 },
  ]);
  const row = (depth: number) => namesOf(trace, Array.from(
    { length: trace.rows[depth].end - trace.rows[depth].first }, (_, i) => trace.rows[depth].first + i));
  assert.deepEqual([row(0), row(1), row(2)], [["loop", "after"], ["iteration 0"], ["more", "dec"]]);
  assert.deepEqual([...trace.own].map((t) => Math.round(t)), [5, 1, 2, 2, 1]);
});

test("the own time of iterations is that of their loop", async () => {
  const trace = await traceOf([
    { name: "more", op: "Greater", ts: 1, dur: 2 },
    { name: "iteration 0", ts: 1, dur: 5 },
    { name: "loop", op: "While", ts: 0, dur: 10 },
  ]);
  const times = timesOf(trace);
  const rows = times.byOp.map((r) => [trace.texts[r.text], r.count, r.own]);
  assert.deepEqual(rows, [["While", 1, 8], ["Greater", 1, 2]]);
  assert.equal(times.all, 10);
});

test("the critical path follows edges, over threads, and the thread where the graph says nothing", async () => {
  const trace = await traceOf([
    { name: "a", op: "A", ts: 0, dur: 5 },
    { name: "slow", op: "S", ts: 5, dur: 20, tid: 1 },
    { name: "quick", op: "Q", ts: 5, dur: 2 },
    { name: "join", op: "J", ts: 26, dur: 4 },
    { name: "stranger", op: "J", ts: 31, dur: 4 },
  ]);
  const path = criticalPath(trace, new Causes(trace, wiresOf("a:", "slow:a", "quick:a", "join:slow quick")));
  assert.deepEqual(namesOf(trace, path.slices), ["a", "slow", "join", "stranger"]);
  assert.deepEqual(namesOf(trace, path.byThread), ["stranger"]);
  assert.deepEqual([path.busy, path.idle], [33, 2]);
});

test("a path goes through nodes without slices, and over back edges to the previous iteration", async () => {
  const slices = [0, 1, 2].flatMap((i) => [
    { name: "more", op: "Less", ts: i * 10, dur: 1, args: { loop: "l", iteration: i } },
    { name: "add", op: "Add", ts: i * 10 + 2, dur: 3, args: { loop: "l", iteration: i } },
  ]);
  const trace = await traceOf(slices);
  const wires = wiresOf("merge:*next", "more:merge", "switch:merge more", "add:switch", "next:add");
  const path = criticalPath(trace, new Causes(trace, wires));
  assert.deepEqual(namesOf(trace, path.slices), ["more", "add", "more", "add", "more", "add"]);
  assert.equal(path.byThread.size, 0);
});

test("waits name what ended them", async () => {
  const trace = await traceOf([
    { name: "a", op: "A", ts: 0, dur: 5 },
    { name: "slow", op: "S", ts: 5, dur: 20, tid: 1 },
    { name: "join", op: "J", ts: 26, dur: 4 },
    { name: "take", op: "QueueDequeueV2", ts: 30, dur: 10, args: { waited_us: 8 } },
    { name: "get", op: "Unstage", ts: 2, dur: 7, pid: 4 },
  ]);
  const causes = new Causes(trace, wiresOf("a:", "slow:a", "join:slow a"));
  const waits = longestWaits(trace, causes).map((w) => [
    trace.texts[trace.name[w.slice]], w.kind, w.time, w.cause < 0 ? null : trace.texts[trace.name[w.cause]],
  ]);
  assert.deepEqual(waits, [["join", "thread", 21, "slow"], ["take", "op", 8, null], ["get", "op", 7, null]]);
});

test("exchanges are hidden where something is computed", async () => {
  const trace = await traceOf([
    { name: "a", op: "MatMul", ts: 0, dur: 5 },
    { name: "b", op: "MatMul", ts: 8, dur: 5 },
    { name: "wait", op: "CollectiveReduce", ts: 13, dur: 5 },
    { name: "reduce", op: "CollectiveReduce", ts: 2, dur: 16, pid: 3, args: { exchange: true, hidden_us: 8 } },
  ]);
  assert.deepEqual(gaps(computingSpans(trace), 2, 18), [[5, 8], [13, 18]]);
  assert.deepEqual(exchangesOf(trace), { count: 1, time: 16, hidden: 8 });
});

test("nodes are found by the names of slices, in functions behind the name of the call", () => {
  const names = ["x", "call", "x", "matmul"];
  const find = (name: string) => (names.includes(name) ? names.indexOf(name) : null);
  const found = ["x", "call/matmul", "a/b/x", "other"].map((name) => findNode(name, find, (n) => n >= 2));
  assert.deepEqual(found, [0, 3, -1, -1]);
});
