// Nodes that say the same many times over: hundreds of variables that one call takes, say, or as
// many results of one call. They are drawn as one group, closed, so that the first picture shows
// what is done with them.
import type { BodyTree, Group } from "./groups.js";
import type { Scene } from "../scene/scene.js";

/** Fewer than this are better seen. */
const fewest = 6;
/** A group of more isn't one of the many alike. */
const mostInside = 12;

export function gatherSets(tree: BodyTree, group: Group) {
  if (group.children.length < fewest) return;
  const sets = new Map<string, number[]>();
  for (const code of group.children) {
    const key = keyOf(tree, group, code);
    if (key === null) continue;
    const set = sets.get(key);
    if (set) set.push(code);
    else sets.set(key, [code]);
  }
  for (const codes of sets.values())
    if (codes.length >= fewest && codes.length < group.children.length) gather(tree, group, codes);
}

/** Returns the common key of the children of a set; null for a child with inputs and outputs, or without both. */
function keyOf(tree: BodyTree, group: Group, code: number): string | null {
  const { scene } = tree;
  const nodes = leavesOf(tree, code);
  if (!nodes) return null;
  const { begin } = scene.outgoing();
  const isSource = nodes.every((node) => scene.inBegin[node] === scene.inBegin[node + 1]);
  const isSink = nodes.every((node) => begin[node] === begin[node + 1]);
  if (isSource === isSink) return null;
  const other = onlyNeighbour(tree, group, code, nodes, isSource);
  if (other === null) return null;
  const what = isSource && isResource(scene, nodes[0]) ? "resource" : scene.nodeOp[nodes[0]];
  return nodes.every((node) => (isSource && isResource(scene, node) ? "resource" : scene.nodeOp[node]) === what)
    ? `${what} ${isSource} ${other}` : null;
}

function leavesOf(tree: BodyTree, code: number): number[] | null {
  if (code >= 0) return [code];
  const group = tree.groups[~code];
  if (group.nodes > mostInside || group.kind !== "scope") return null;
  return group.children.flatMap((inner) => leavesOf(tree, inner) ?? []);
}

function isResource(scene: Scene, node: number): boolean { return scene.outputType(node, 0).startsWith("resource"); }

/** The one other child of the group that takes all that is given, or gives all that is taken. */
function onlyNeighbour(tree: BodyTree, group: Group, code: number, nodes: number[], isSource: boolean): number | null {
  const { scene } = tree;
  const { begin, edges } = scene.outgoing();
  let found: number | null = null;
  for (const node of nodes) {
    const [first, end] = isSource ? [begin[node], begin[node + 1]] : [scene.inBegin[node], scene.inBegin[node + 1]];
    for (let i = first; i < end; ++i) {
      const other = tree.childHolding(group, isSource ? scene.edgeTo[edges[i]] : scene.edgeFrom[i]);
      if (other === null || other === code || (found !== null && found !== other)) return null;
      found = other;
    }
  }
  return found;
}

function gather(tree: BodyTree, group: Group, codes: number[]) {
  const set = tree.add("set", group.id, group.prefix, -1);
  const { scene } = tree;
  const [first] = leavesOf(tree, codes[0]) as number[];
  set.name = isResource(scene, first) ? "variables and other resources" : scene.op(first);
  set.children = codes;
  for (const code of codes) {
    if (code < 0) tree.groups[~code].parent = set.id;
    else tree.nodeGroup[code - tree.first] = set.id;
    set.nodes += code < 0 ? tree.groups[~code].nodes : 1;
  }
  const gathered = new Set(codes);
  group.children[group.children.indexOf(codes[0])] = ~set.id;
  group.children = group.children.filter((code) => !gathered.has(code));
}
