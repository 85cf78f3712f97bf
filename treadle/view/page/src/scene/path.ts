// The shortest path from one node to another along the edges of the graph.
import { EdgeKind, type Scene } from "./scene.js";

/** Returns the edges of a shortest path, in order; null if no path leads there. Ignores soft
    edges, since they are only hints. */
export function shortestPath(scene: Scene, from: number, to: number): number[] | null {
  const { begin, edges } = scene.outgoing();
  const reachedBy = new Int32Array(scene.nodeCount).fill(-1);
  const queue = new Uint32Array(scene.nodeCount);
  let tail = 0;
  queue[tail++] = from;
  for (let head = 0; head < tail; ++head) {
    const node = queue[head];
    for (let i = begin[node]; i < begin[node + 1]; ++i) {
      const edge = edges[i];
      const target = scene.edgeTo[edge];
      if (scene.edgeKind[edge] === EdgeKind.Soft || target === from || reachedBy[target] >= 0) continue;
      reachedBy[target] = edge;
      if (target === to) return wayBack(scene, from, to, reachedBy);
      queue[tail++] = target;
    }
  }
  return from === to ? [] : null;
}

function wayBack(scene: Scene, from: number, to: number, reachedBy: Int32Array): number[] {
  const path: number[] = [];
  for (let node = to; node !== from; node = scene.edgeFrom[reachedBy[node]]) path.push(reachedBy[node]);
  return path.reverse();
}
