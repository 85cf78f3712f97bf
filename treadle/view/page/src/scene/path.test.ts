import assert from "node:assert/strict";
import { test } from "node:test";
import { sceneBytes } from "./made_scene.js";
import { shortestPath } from "./path.js";
import { decodeScene } from "./scene.js";
import { Matcher } from "./search.js";

const scene = decodeScene(sceneBytes({
  nodes: [
    { name: "in", op: "Placeholder" }, { name: "a", inputs: [0], op: "MatMul" }, { name: "b", inputs: [1], back: [3] },
    { name: "c", inputs: [2], types: ["int32[4]"] }, { name: "out", inputs: [3, 1] }, { name: "alone" },
  ],
}));
const names = (path: number[] | null) => path?.map((edge) => scene.name(scene.edgeTo[edge]));

test("the shortest path is found", () => {
  assert.deepEqual(names(shortestPath(scene, 0, 4)), ["a", "out"]);
  assert.deepEqual(names(shortestPath(scene, 0, 3)), ["a", "b", "c"]);
});
test("a path may go round a loop", () => {
  assert.deepEqual(names(shortestPath(scene, 3, 2)), ["b"]);
});
test("where no path leads there is none", () => {
  assert.equal(shortestPath(scene, 4, 0), null);
  assert.equal(shortestPath(scene, 0, 5), null);
  assert.deepEqual(shortestPath(scene, 1, 1), []);
});

const found = (query: string) => {
  const matcher = new Matcher(scene, query);
  return [...Array(scene.nodeCount).keys()].filter((node) => matcher.fits(node)).map((node) => scene.name(node));
};
test("nodes are found by name, op and type", () => {
  assert.deepEqual(found("OUT"), ["out"]);
  assert.deepEqual(found("op:matmul"), ["a"]);
  assert.deepEqual(found("type:int32"), ["c"]);
  assert.deepEqual(found("op:identity b"), ["b"]);
  assert.deepEqual(found("resource:v"), []);
  assert.equal(new Matcher(scene, "  ").isEmpty, true);
});
