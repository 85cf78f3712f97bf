// The edges of a level, between its children and ports. Edges between two groups are bundled.
import type { BodyTree, Group } from "../groups/groups.js";
import { joinMembers } from "./joins.js";
import type { Level, ViewOptions } from "./levels.js";
import { EdgeKind } from "../scene/scene.js";

export interface Bundles {
  from: Int32Array;
  to: Int32Array;
  kinds: Uint8Array;
  /** The number of edges of the graph that it represents, and one of them. */
  counts: Uint32Array;
  edges: Int32Array;
}

function showsKind(kind: number, options: ViewOptions): boolean {
  return (kind !== EdgeKind.Control || options.control) && (kind !== EdgeKind.Soft || options.soft) &&
    (kind !== EdgeKind.Chain || options.chain);
}

/** Returns the child of the group that holds each node of the body; -1 outside of the group. */
function childPlaces(tree: BodyTree, group: Group): { places: Int32Array; members: number[] } {
  const places = new Int32Array(tree.end - tree.first).fill(-1);
  const members: number[] = [];
  group.children.forEach((code, place) => {
    const codes = [code];
    for (let at = codes.pop(); at !== undefined; at = codes.pop()) {
      if (at >= 0) {
        places[at - tree.first] = place;
        members.push(at);
      } else {
        for (const inner of tree.groups[~at].children) codes.push(inner);
      }
    }
  });
  return { places, members };
}

export function bundlesOf(level: Level): Bundles {
  const { tree, scene, options } = level;
  const { places, members } = childPlaces(tree, level.group as Group);
  const from: number[] = [];
  const to: number[] = [];
  const kinds: number[] = [];
  const counts: number[] = [];
  const edges: number[] = [];
  const known = new Map<number, number>();
  const add = (source: number, target: number, edge: number) => {
    const kind = scene.edgeKind[edge];
    if (source === target && isGroup(level, source)) return;
    if (isGroup(level, source) || isGroup(level, target)) {
      const key = level.bundleKey(source, target, kind);
      const bundle = known.get(key);
      if (bundle !== undefined) { ++counts[bundle]; return; }
      known.set(key, from.length);
    }
    from.push(source);
    to.push(target);
    kinds.push(kind);
    counts.push(1);
    edges.push(edge);
  };
  const placeOf = (node: number) => (tree.holds(node) ? places[node - tree.first] : -1);
  const outgoing = level.outEdges.length > 0 ? scene.outgoing() : null;
  for (const node of members) {
    const target = places[node - tree.first];
    for (let edge = scene.inBegin[node]; edge < scene.inBegin[node + 1]; ++edge) {
      if (!showsKind(scene.edgeKind[edge], options)) continue;
      let source = placeOf(scene.edgeFrom[edge]);
      if (source < 0) source = level.inEdges.length ? level.endOf(scene.edgeFrom[edge], true, scene.edgeKind[edge]) : -1;
      if (source >= 0) add(source, target, edge);
    }
    if (!outgoing) continue;
    for (let i = outgoing.begin[node]; i < outgoing.begin[node + 1]; ++i) {
      const edge = outgoing.edges[i];
      if (!showsKind(scene.edgeKind[edge], options) || placeOf(scene.edgeTo[edge]) >= 0) continue;
      const outside = level.endOf(scene.edgeTo[edge], false, scene.edgeKind[edge]);
      if (outside >= 0) add(target, outside, edge);
    }
  }
  joinMembers(level, members, placeOf, add);
  return {
    from: Int32Array.from(from), to: Int32Array.from(to), kinds: Uint8Array.from(kinds),
    counts: Uint32Array.from(counts), edges: Int32Array.from(edges),
  };
}

/** Whether an end bundles edges: a group, or the border. */
function isGroup(level: Level, end: number): boolean {
  return end >= level.count || level.codes[end] < 0;
}
