import assert from "node:assert/strict";
import { test } from "node:test";
import { BodyTree, type Group } from "./groups.js";
import { sceneBytes, type MadeNode } from "../scene/made_scene.js";
import { decodeScene } from "../scene/scene.js";

function treeOf(nodes: MadeNode[], header: Record<string, unknown> = {}): BodyTree {
  return new BodyTree(decodeScene(sceneBytes({ nodes, header })), 0);
}
/** The tree as nested lists: groups by name, nodes by label. */
function shape(tree: BodyTree, group: Group = tree.root): unknown[] {
  return group.children.map((code) =>
    code < 0 ? { [tree.groups[~code].name]: shape(tree, tree.groups[~code]) } : tree.nodeLabel(code));
}

test("names make nested scopes", () => {
  const tree = treeOf([{ name: "x" }, { name: "a/b/p" }, { name: "a/b/q" }, { name: "a/r" }]);
  assert.deepEqual(shape(tree), ["x", { a: [{ b: ["p", "q"] }, "r"] }]);
});

test("a group of one child is taken away, and its name goes to the child", () => {
  const tree = treeOf([{ name: "x" }, { name: "a/b/p" }, { name: "a/b/q" }, { name: "c/d" }]);
  assert.deepEqual(shape(tree), ["x", { "a/b": ["p", "q"] }, "c/d"]);
});

test("a node that a scope is named for is in it", () => {
  const tree = treeOf([{ name: "x" }, { name: "dense/kernel" }, { name: "dense/matmul" }, { name: "dense" }]);
  assert.deepEqual(shape(tree), ["x", { dense: ["kernel", "matmul", "dense"] }]);
});

test("an op and its constants aren't a group", () => {
  const tree = treeOf([{ name: "x" }, { name: "y" }, { name: "Add/y", op: "Const" }, { name: "Add", op: "Add", inputs: [2] }]);
  assert.deepEqual(shape(tree), ["x", "y", "Add/y", "Add"]);
});

test("the only scope of a body needs no box", () => {
  assert.deepEqual(shape(treeOf([{ name: "net/a" }, { name: "net/b" }])), ["a", "b"]);
});

test("a loop is a group within the scopes, and has scopes inside", () => {
  const frames = [
    { body: 0, name: "outer", parent: -1, parallelIterations: 10 }, { body: 0, name: "inner", parent: 0, parallelIterations: 1 },
  ];
  const tree = treeOf([
    { name: "n" }, { name: "loop/Enter", frame: 0 }, { name: "loop/body/a", frame: 0 }, { name: "loop/body/b", frame: 0 },
    { name: "loop/in/Enter", frame: 1 }, { name: "loop/in/Exit", frame: 1 },
  ], { frames });
  assert.deepEqual(shape(tree), ["n", { outer: ["Enter", { body: ["a", "b"] }, { inner: ["Enter", "Exit"] }] }]);
  assert.deepEqual(tree.groupsAround(5).map(({ kind }) => kind), ["frame", "frame"]);
});

test("every node is in exactly one group, whatever its name", () => {
  const names = ["", "/", "//", "a//b", "/a", "a/", "a", "x/".repeat(400), "y".repeat(9000), "é/ü/a", "é/ü/b", "a/b/c", "a/b"];
  const tree = treeOf(names.map((name) => ({ name })));
  const seen: number[] = [];
  const visit = (group: Group) => { for (const code of group.children) if (code < 0) visit(tree.groups[~code]); else seen.push(code); };
  visit(tree.root);
  assert.deepEqual(seen.sort((a, b) => a - b), names.map((_, i) => i));
  for (let node = 0; node < names.length; ++node) assert.ok(tree.groupOf(node).children.includes(node));
});

test("thousands of nodes without scopes become runs that follow each other", () => {
  const nodes = Array.from({ length: 5000 }, (_, i) => ({ name: `n${i}`, inputs: i > 3 ? [i - 4] : [] }));
  const tree = treeOf(nodes);
  assert.ok(tree.root.children.length <= 60);
  assert.equal(tree.root.nodes, 5000);
  const { from, to } = tree.edgesBetween(tree.root);
  for (let i = 0; i < from.length; ++i) assert.ok(from[i] < to[i]);
  for (const group of tree.groups) assert.ok(group.children.length <= 80);
});

test("many variables of one call are one set", () => {
  const nodes: MadeNode[] = Array.from({ length: 20 }, (_, i) => ({ name: `v${i}`, op: "VarHandleOp", types: ["resource"] }));
  nodes.push({ name: "x" }, { name: "call", inputs: [...Array(21).keys()] });
  const tree = treeOf(nodes);
  assert.deepEqual(shape(tree).slice(1), ["x", "call"]);
  assert.equal(tree.groups[~tree.root.children[0]].kind, "set");
  assert.equal(tree.groups[~tree.root.children[0]].nodes, 20);
});

test("a weight that a function is given stands beside the one node that it feeds", () => {
  const bodies = [{ name: "f", kind: "function", first: 0, end: 6 }];
  const tree = treeOf([
    { name: "weight", op: "_Arg", types: ["resource[]"] }, { name: "x", op: "_Arg" }, { name: "y" },
    { name: "dense/Read", inputs: [0] }, { name: "dense/MatMul", inputs: [1, 3] }, { name: "dense/Add", inputs: [2, 4] },
  ], { bodies });
  assert.deepEqual(shape(tree), [{ dense: ["weight", "Read", "MatMul", "Add"] }, "x", "y"]);
});
