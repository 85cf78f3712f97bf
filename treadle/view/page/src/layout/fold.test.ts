import assert from "node:assert/strict";
import { test } from "node:test";
import { fold } from "./fold.js";
import type { LayoutResult, LayoutTask } from "./layout_task.js";

/** A tower of boxes, each over the next, between two ports, with one edge past them all. */
function tower(count: number): { task: LayoutTask; result: LayoutResult } {
  const step = 70;
  const top = 40;
  const height = top + count * step + 20;
  const from = [count, ...Array(count - 1).keys(), count - 1, 0];
  const to = [...Array(count).keys(), count + 1, count - 1];
  const points: number[] = [];
  const pointBegin = [0];
  const line = (...corners: number[]) => { points.push(...corners); pointBegin.push(points.length / 2); };
  line(80, 0, 80, top);
  for (let i = 0; i + 1 < count; ++i) line(80, top + i * step + 38, 80, top + (i + 1) * step);
  line(80, top + (count - 1) * step + 38, 80, height);
  line(100, top + 38, 100, top + 46, 150, top + 46, 150, top + (count - 1) * step - 8, 100, top + (count - 1) * step - 8, 100, top + (count - 1) * step);
  const free = new Float32Array(from.length).fill(NaN);
  return {
    task: {
      count, widths: new Float32Array(count).fill(100), heights: new Float32Array(count).fill(38), ins: 1, outs: 1,
      from: Int32Array.from(from), to: Int32Array.from(to), kinds: new Uint8Array(from.length), fromPort: new Int32Array(from.length),
      fromAt: free, toAt: free, packs: false, padding: { top, side: 20, bottom: 20 },
    },
    result: {
      x: new Float32Array(count).fill(30), y: Float32Array.from({ length: count }, (_, i) => top + i * step), width: 200, height,
      inX: Float32Array.of(80), outX: Float32Array.of(80), pointBegin: Uint32Array.from(pointBegin), points: Float32Array.from(points),
    },
  };
}

test("a tower becomes columns, and lines keep their ends and their right angles", () => {
  const { task, result } = tower(40);
  const folded = fold(task, result);
  assert.ok(folded.width > 2 * result.width && folded.height < result.height / 2);
  const begin = folded.pointBegin as Uint32Array;
  const end = (at: number, isSource: boolean): [number, number] => {
    if (at === task.count) return [folded.inX[0], 0];
    if (at === task.count + 1) return [folded.outX[0], folded.height];
    return [folded.x[at], folded.y[at] + (isSource ? 38 : 0)];
  };
  for (let edge = 0; edge < task.from.length; ++edge) {
    for (let i = begin[edge]; i + 1 < begin[edge + 1]; ++i) {
      const [x0, y0, x1, y1] = folded.points.subarray(2 * i, 2 * i + 4);
      assert.ok(Math.abs(x0 - x1) < 0.01 || Math.abs(y0 - y1) < 0.01, `edge ${edge} is askew`);
      for (const x of [x0, x1]) assert.ok(x >= 0 && x <= folded.width);
      for (const y of [y0, y1]) assert.ok(y >= 0 && y <= folded.height + 0.01);
    }
    const last = begin[edge + 1] - 1;
    assert.ok(Math.abs(folded.points[2 * last + 1] - end(task.to[edge], false)[1]) < 0.01);
    assert.ok(Math.abs(folded.points[2 * begin[edge] + 1] - end(task.from[edge], true)[1]) < 0.01);
  }
});

test("what isn't a tower stays as it is", () => {
  const { task, result } = tower(8);
  assert.equal(fold(task, result), result);
});
