import assert from "node:assert/strict";
import { test } from "node:test";
import { layersOf, place } from "./place.js";
import { cutIntoRuns, type Run } from "../groups/runs.js";

test("a layer is one more than the deepest before it", () => {
  assert.deepEqual([...layersOf(4, Int32Array.of(0, 1, 0, 2), Int32Array.of(1, 2, 3, 3))], [0, 1, 2, 3]);
});

test("cycles and loops to oneself end", () => {
  const layers = layersOf(4, Int32Array.of(0, 1, 2, 3), Int32Array.of(1, 2, 0, 3));
  assert.deepEqual([...layers], [0, 1, 2, 0]);
});

/** Deterministic, so that a failure can be repeated. */
function random(seed: number): () => number {
  return () => (seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff) / 0x7fffffff;
}
function graph(count: number, width: number): { from: Int32Array; to: Int32Array } {
  const next = random(7);
  const from: number[] = [];
  const to: number[] = [];
  for (let i = width; i < count; ++i) {
    from.push(i - width, Math.floor(next() * i));
    to.push(i, i);
  }
  return { from: Int32Array.from(from), to: Int32Array.from(to) };
}

for (const [count, width] of [[1, 1], [50, 3], [3000, 40], [3000, 2500]])
  test(`boxes don't overlap: ${count} of width ${width}`, () => {
    const { from, to } = graph(count, width);
    const next = random(3);
    const widths = Float32Array.from({ length: count }, () => 40 + next() * 200);
    const heights = Float32Array.from({ length: count }, () => 20 + next() * 60);
    const { x, y, width: whole, height } = place(widths, heights, from, to);
    const order = [...Array(count).keys()].sort((a, b) => x[a] - x[b]);
    order.forEach((a, i) => {
      assert.ok(x[a] >= -1 && y[a] >= -1 && x[a] + widths[a] <= whole + 1 && y[a] + heights[a] <= height + 1);
      for (let k = i + 1; k < count && x[order[k]] < x[a] + widths[a] - 0.5; ++k) {
        const b = order[k];
        assert.ok(y[a] + heights[a] <= y[b] + 0.5 || y[b] + heights[b] <= y[a] + 0.5, `${a} and ${b}`);
      }
    });
  });

test("a long chain is folded into columns", () => {
  const count = 4000;
  const from = Int32Array.from({ length: count - 1 }, (_, i) => i);
  const { width, height } = place(new Float32Array(count).fill(100), new Float32Array(count).fill(38), from, from.map((i) => i + 1));
  assert.ok(height < 2 * width && width < 4 * height, `${width} x ${height}`);
});

test("no nodes take no room", () => {
  const none = new Float32Array(0);
  const { width, height } = place(none, none, new Int32Array(0), new Int32Array(0));
  assert.ok(width >= 0 && Number.isFinite(width) && Number.isFinite(height));
});

test("runs hold every member once", () => {
  const { from, to } = graph(2500, 5);
  const members: number[] = [];
  const visit = (run: Run) => { members.push(...run.members); run.parts?.forEach(visit); };
  cutIntoRuns(2500, from, to, 48).forEach(visit);
  assert.deepEqual(members.sort((a, b) => a - b), [...Array(2500).keys()]);
});
