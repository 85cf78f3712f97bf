// Continues the edges of a call inside the called function: to its arguments, and out of it from its
// results. They pass the borders on the way through ports, as other edges do.
import type { Bundles } from "./bundles.js";
import type { Level } from "./levels.js";

/** Returns the number of a call's first inputs that aren't passed; null if none are arguments. */
function inputsBefore(level: Level, call: number): number | null {
  const op = level.scene.op(call);
  if (/^(Stateless)?(If|Case)$/.test(op)) return 1;
  if (/^(Stateless)?While$|PartitionedCall$/.test(op)) return 0;
  return level.scene.callsOf(call).some(({ body }) => level.scene.bodies[body].name === op) ? 0 : null;
}

/** The call whose function the level is in; null in the graph. */
function callAround(level: Level): { node: number; role: string } | null {
  let root = level;
  while (root.group && root.group.id !== 0 && root.parent) root = root.parent;
  if (root.callNode >= 0) return { node: root.callNode, role: level.scene.callsOf(root.callNode)[0]?.role ?? "" };
  const call = root.parent && !root.parent.group ? root.parent.callAt(root.place) : null;
  return call && { node: (root.parent as Level).callNode, role: call.role };
}

/** The port of a level by which an edge of the call around it comes in or leaves; -1 if there is none. */
function portOf(level: Level, call: number, edge: number, incoming: boolean): number {
  const { parent, place, scene } = level;
  if (!parent) return -1;
  const isCaller = parent.nodeAt(place) === call;
  let bundle = isCaller ? parent.bundles.edges.indexOf(edge) : -1;
  if (bundle < 0) {
    const kind = scene.edgeKind[edge];
    const other = incoming ? scene.edgeFrom[edge] : scene.edgeTo[edge];
    const outside = isCaller ? parent.endOf(other, incoming, kind) : portOf(parent, call, edge, incoming);
    if (outside < 0) return -1;
    bundle = parent.bundleAt(incoming ? outside : place, incoming ? place : outside, kind);
  }
  const port = (incoming ? level.inEdges : level.outEdges).indexOf(bundle);
  return port < 0 ? -1 : level.count + port + (incoming ? 0 : level.inEdges.length);
}

/** The edges that a call has at an input, or at an output. */
function edgesAt(level: Level, call: number, index: number, incoming: boolean): number[] {
  const { scene } = level;
  if (incoming) {
    const edge = scene.inBegin[call] + index;
    return edge < scene.inBegin[call + 1] && scene.edgePort[edge] >= 0 ? [edge] : [];
  }
  const { begin, edges } = scene.outgoing();
  return Array.from(edges.subarray(begin[call], begin[call + 1])).filter((edge) => scene.edgePort[edge] === index);
}

/** The number of an argument or of a result, from how many come before. */
function numberOf(level: Level, node: number, op: string): number {
  const { first, end } = level.tree;
  if (op === "_Arg") return node - first;
  let at = end - 1;
  while (at > first && level.scene.op(at) !== "_Arg") --at;
  let number = 0;
  for (++at; at < node; ++at) if (level.scene.op(at) === op) ++number;
  return number;
}

export type Add = (source: number, target: number, edge: number) => void;

/** Joins the arguments and results among nodes of a function to the ports of a level. */
export function joinMembers(level: Level, members: number[], placeOf: (node: number) => number, add: Add) {
  if (level.inEdges.length + level.outEdges.length === 0) return;
  const call = callAround(level);
  const before = call && inputsBefore(level, call.node);
  if (!call || before === null) return;
  for (const node of members) {
    const op = level.scene.op(node);
    // The result of a loop's condition isn't an output of the loop.
    if ((op !== "_Arg" && (op !== "_Retval" || call.role === "cond")) || level.tree.isMoved(node)) continue;
    const incoming = op === "_Arg";
    const index = numberOf(level, node, op) + (incoming ? before : 0);
    for (const edge of edgesAt(level, call.node, index, incoming)) {
      const port = portOf(level, call.node, edge, incoming);
      if (port >= 0) add(incoming ? port : placeOf(node), incoming ? placeOf(node) : port, edge);
    }
  }
}

/** The edges of a level that shows the functions of a call side by side. */
export function bundlesOfCall(level: Level): Bundles {
  const { scene, callNode } = level;
  const known = new Map<number, number>();
  const from: number[] = [];
  const to: number[] = [];
  const kinds: number[] = [];
  const counts: number[] = [];
  const edges: number[] = [];
  const add: Add = (source, target, edge) => {
    const key = level.bundleKey(source, target, scene.edgeKind[edge]);
    const at = known.get(key);
    if (at !== undefined) { ++counts[at]; return; }
    known.set(key, from.length);
    from.push(source);
    to.push(target);
    kinds.push(scene.edgeKind[edge]);
    counts.push(1);
    edges.push(edge);
  };
  const before = inputsBefore(level, callNode);
  if (before !== null) scene.callsOf(callNode).forEach(({ body, role }, place) => {
    const { first, end } = scene.bodies[body];
    const join = (index: number, incoming: boolean) => {
      for (const edge of edgesAt(level, callNode, index, incoming)) {
        const port = portOf(level, callNode, edge, incoming);
        if (port >= 0) add(incoming ? port : place, incoming ? place : port, edge);
      }
    };
    let results = 0;
    for (let node = first; node < end; ++node) {
      const op = scene.op(node);
      if (op === "_Arg") join(node - first + before, true);
      else if (op === "_Retval" && role !== "cond") join(results++, false);
    }
  });
  return {
    from: Int32Array.from(from), to: Int32Array.from(to), kinds: Uint8Array.from(kinds),
    counts: Uint32Array.from(counts), edges: Int32Array.from(edges),
  };
}
