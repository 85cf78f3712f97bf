import assert from "node:assert/strict";
import { test } from "node:test";
import { joined, partsOf, sceneBytes, type Made } from "./made_scene.js";
import { decodeScene, SceneError } from "./scene.js";

const small: Made = { nodes: [{ name: "a" }, { name: "b", inputs: [0], control: [0] }, { name: "ç", inputs: [1, 0] }] };

test("a scene is read in place", () => {
  const scene = decodeScene(sceneBytes(small));
  assert.equal(scene.nodeCount, 3);
  assert.equal(scene.name(2), "ç");
  assert.equal(scene.edgeType(0), "float32[?]");
  assert.equal(scene.edgeType(1), "");
  assert.deepEqual([...scene.edgeTo], [1, 1, 2, 2]);
  const { begin, edges } = scene.outgoing();
  assert.deepEqual([...edges.subarray(begin[0], begin[1])], [0, 1, 3]);
  assert.equal(scene.find("b"), 1);
  assert.equal(scene.find("none"), null);
});

test("a scene at an odd place of its buffer is read too", () => {
  const bytes = sceneBytes(small);
  const moved = new Uint8Array(bytes.length + 3);
  moved.set(bytes, 3);
  assert.equal(decodeScene(moved.subarray(3)).name(1), "b");
});

type Parts = ReturnType<typeof partsOf>;
const damages: [string, (parts: Parts) => void, RegExp][] = [
  ["an edge from nowhere", ({ columns }) => { columns.edgeFrom[0] = 99; }, /edgeFrom 0 is 99/],
  ["a name that isn't a string", ({ columns }) => { columns.nodeName[1] = 4096; }, /nodeName 1 is 4096/],
  ["edges that run backwards", ({ columns }) => { columns.inBegin[1] = 9; }, /inBegin falls/],
  ["strings that run backwards", ({ columns }) => { columns.stringEnds[1] = 60; }, /stringEnds falls/],
  ["a missing column", ({ columns }) => { delete (columns as Record<string, unknown>).nodeOp; }, /no nodeOp/],
  ["a frame that isn't there", ({ columns }) => { columns.nodeFrame[0] = 0; }, /nodeFrame 0 is 0/],
  ["a strange kind of edge", ({ columns }) => { columns.edgeKind[0] = 77; }, /edgeKind 0 is 77/],
  ["a body beyond the nodes", ({ header }) => { header.bodies = [{ name: "", kind: "graph", first: 0, end: 9 }]; }, /ends at 9/],
  ["no body", ({ header }) => { header.bodies = []; }, /no body/],
  ["a frame within itself", ({ header }) => { header.frames = [{ body: 0, name: "", parent: 0, parallelIterations: 1 }]; }, /holds itself/],
  ["a race of no node", ({ header }) => { header.races = [{ nodes: [7], message: "" }]; }, /race/],
];
for (const [what, damage, message] of damages)
  test(`${what} is one clear error`, () => {
    const parts = partsOf(small);
    damage(parts);
    assert.throws(() => decodeScene(joined(parts)), (error: unknown) =>
      error instanceof SceneError && message.test(error.message));
  });

test("bytes that aren't a scene give one clear error, wherever they are cut", () => {
  const bytes = sceneBytes(small);
  for (let length = 0; length < bytes.length; length += 7)
    assert.throws(() => decodeScene(bytes.slice(0, length)), SceneError);
  const newer = bytes.slice();
  newer[8] = 2;
  assert.throws(() => decodeScene(newer), /version 2/);
});

test("any byte may be wrong without another kind of error", () => {
  const bytes = sceneBytes(small);
  for (let i = 0; i < bytes.length; ++i)
    for (const flip of [1, 128, 255]) {
      const damaged = bytes.slice();
      damaged[i] ^= flip;
      try {
        decodeScene(damaged);
      } catch (error) {
        assert.ok(error instanceof SceneError, `byte ${i}: ${String(error)}`);
      }
    }
});
