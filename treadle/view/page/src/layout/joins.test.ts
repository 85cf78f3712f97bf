import assert from "node:assert/strict";
import { test } from "node:test";
import { sceneBytes, type MadeNode } from "../scene/made_scene.js";
import { decodeScene } from "../scene/scene.js";
import { Level, Trees, type ViewOptions } from "./levels.js";

const options: ViewOptions = { control: true, soft: true, chain: true, constantsBeside: true, grouped: true };

/** A call of `op` with two inputs, whose first output goes to a node. The functions of the call
    return the sum of their arguments. */
function opened(op: string, roles: string[]): { root: Level; call: Level } {
  const nodes: MadeNode[] = [{ name: "a" }, { name: "b" }, { name: "call", op, inputs: [0, 1] }, { name: "user", inputs: [2] }];
  const bodies = [{ name: "graph", kind: "graph", first: 0, end: 4 }];
  const calls: [number, number, string][] = [];
  for (const role of roles) {
    const first = nodes.length;
    nodes.push({ name: "x", op: "_Arg" }, { name: "y", op: "_Arg" }, { name: "sum", inputs: [first, first + 1] },
      { name: "result 0", op: "_Retval", inputs: [first + 2] });
    calls.push([2, bodies.length, role]);
    bodies.push({ name: role, kind: "function", first, end: nodes.length });
  }
  const trees = new Trees(decodeScene(sceneBytes({ nodes, header: { bodies }, calls })));
  const tree = trees.of(0, true);
  const root = new Level("", tree, tree.root, -1, null, -1, options, false);
  const place = root.placeOf(2);
  const inner = roles.length === 1 ? trees.of(1, true) : tree;
  return { root, call: new Level(".n2", inner, roles.length === 1 ? inner.root : null, 2, root, place, options, true) };
}
/** The edges of a level from and to its ports, as pairs; ports come after the boxes. */
function joins(level: Level): [number, number][] {
  const { from, to } = level.bundles;
  return Array.from(from, (end, i): [number, number] => [end, to[i]]).filter((ends) => ends.some((end) => end >= level.count));
}

test("the inputs of a call go on to its arguments, and its result comes from inside", () => {
  const { call } = opened("PartitionedCall", ["f"]);
  assert.deepEqual(joins(call), [[4, 0], [5, 1], [3, 6]]);
});

test("the condition of a loop is given all, and gives nothing", () => {
  const { call } = opened("While", ["cond", "body"]);
  assert.deepEqual(joins(call), [[2, 0], [3, 0], [2, 1], [3, 1], [1, 4]]);
});

test("a branch isn't given the predicate", () => {
  const { call } = opened("If", ["then_branch", "else_branch"]);
  assert.deepEqual(joins(call), [[3, 0], [0, 4], [3, 1], [1, 4]]);
});

test("the inputs of other ops with functions end at their box", () => {
  assert.deepEqual(joins(opened("MapDataset", ["f"]).call), []);
});
