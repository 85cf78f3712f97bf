// Adapts a scene for the stepper.
import type { Scene } from "../scene/scene.js";
import type { Names } from "./explain.js";
import type { Run } from "./run.js";
import type { Wiring } from "./tokens.js";

export function wiringOf(scene: Scene): Wiring & Names {
  return {
    op: (node) => scene.op(node),
    attr: (node, key) => attrOf(scene.text(scene.nodeAttrs[node]), key),
    inputs: (node) => ({ first: scene.inBegin[node], end: scene.inBegin[node + 1] }),
    outputs(node) {
      const { begin, edges } = scene.outgoing();
      return Array.from(edges.subarray(begin[node], begin[node + 1]));
    },
    to: (edge) => scene.edgeTo[edge],
    port: (edge) => scene.edgePort[edge],
    name: (node) => scene.name(node),
    inputName(node, input) {
      const edge = scene.inBegin[node] + input, port = scene.edgePort[edge];
      const name = scene.name(scene.edgeFrom[edge]);
      return port > 0 ? `${name}:${port}` : name;
    },
  };
}

/** Attributes are `key = value` in lines. */
function attrOf(lines: string, key: string): string {
  for (const line of lines.split("\n"))
    if (line.startsWith(key + " = ")) return line.slice(key.length + 3);
  return "";
}

/** Returns the edges of fed values whose own node never fires. */
export function fedEdges(scene: Scene, run: Run): { edge: number; text: string }[] {
  const firing = new Set(run.firings.map((f) => f.node)), out: { edge: number; text: string }[] = [];
  const { begin, edges } = scene.outgoing();
  for (const feed of run.feeds ?? []) {
    const colon = feed.name.lastIndexOf(":"), isPort = /^:\d+$/.test(colon < 0 ? "" : feed.name.slice(colon));
    const node = scene.find(isPort ? feed.name.slice(0, colon) : feed.name, run.body);
    if (node === null || firing.has(node)) continue;
    const port = isPort ? Number(feed.name.slice(colon + 1)) : 0;
    for (const edge of edges.subarray(begin[node], begin[node + 1]))
      if (scene.edgePort[edge] === port) out.push({ edge, text: feed.text });
  }
  return out;
}
