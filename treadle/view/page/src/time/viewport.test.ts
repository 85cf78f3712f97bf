import assert from "node:assert/strict";
import { test } from "node:test";
import { count, duration, share, short } from "../texts/texts.js";
import { ticks, Viewport } from "./viewport.js";

const near = (a: number, b: number) => assert.ok(Math.abs(a - b) < 1e-6 * Math.max(1, Math.abs(b)), `${a} isn't ${b}`);

test("the time under the pointer stays there when it zooms", () => {
  const view = new Viewport(0, 1000, 500);
  const time = view.time(120);
  for (const factor of [0.5, 0.1, 3, 0.01]) {
    view.zoom(factor, 120);
    near(view.time(120), time);
  }
});

test("there are ends to zooming and moving", () => {
  const view = new Viewport(0, 1000, 500);
  for (let i = 0; i < 100; ++i) view.zoom(0.5);
  assert.ok(view.span > 0.0199);
  for (let i = 0; i < 100; ++i) view.zoom(2);
  assert.ok(view.span < 1501);
  for (let i = 0; i < 100; ++i) view.pan(400);
  assert.ok(view.begin < 1000 && view.end > 1000);
});

test("a trace of no length can be looked at", () => {
  const view = new Viewport(5, 5, 500);
  assert.ok(view.span > 0);
  view.zoom(0.5);
  near(view.time(view.x(5)), 5);
});

test("what is shown is in sight, and wide enough to be seen", () => {
  const view = new Viewport(0, 1e6, 1000);
  view.show(500, 501);
  assert.ok(view.begin < 500 && view.end > 501);
  assert.ok(1 / view.scale > 100);
});

test("ticks are a round distance apart", () => {
  assert.deepEqual(ticks(0, 10, 5), [0, 2, 4, 6, 8, 10]);
  assert.deepEqual(ticks(0.9, 2.1, 6).map((t) => t.toFixed(1)), ["1.0", "1.2", "1.4", "1.6", "1.8", "2.0"]);
});

test("times, shares and numbers are said as people say them", () => {
  assert.deepEqual([0, 0.25, 3.456, 45.6, 1234, 999.7, 2_500_000].map(duration),
    ["0", "250 ns", "3.46 µs", "45.6 µs", "1.23 ms", "1 ms", "2.50 s"]);
  assert.deepEqual([share(1, 3), share(1, 100000), share(0, 5), share(1, 0), share(5, 100)],
    ["33 %", "< 0.1 %", "0 %", "–", "5.0 %"]);
  assert.deepEqual([count(1, "slice"), count(1200, "slice")], ["1 slice", "1,200 slices"]);
});

test("long texts keep their begin and their end", () => {
  const text = short("a".repeat(1000) + "end", 20);
  assert.equal(text.length, 20);
  assert.ok(text.startsWith("aaa") && text.includes("…") && text.endsWith("end"));
  assert.equal(short("name", 20), "name");
});
