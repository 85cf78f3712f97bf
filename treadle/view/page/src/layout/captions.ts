// The captions of boxes: two lines of text.
import type { Level } from "./levels.js";
import { shown } from "../texts/shown.js";
import { count } from "../texts/texts.js";

/** Returns the op and the name of a node; for other boxes, the same as headerOf. */
export function linesOf(level: Level, place: number): [string, string] {
  const node = level.nodeAt(place);
  if (node >= 0) return [shown(level.scene.op(node), 60), shown(level.tree.nodeLabel(node), 80)];
  return headerOf(level, place);
}

/** A loop of version 1, or a While. */
export function isLoop(level: Level, place: number): boolean {
  const group = level.groupAt(place);
  if (group) return group.kind === "frame";
  const node = level.nodeAt(place);
  return node >= 0 && /^(Stateless)?While$/.test(level.scene.op(node));
}

/** Returns the name of a group, and a note on it. */
export function headerOf(level: Level, place: number): [string, string] {
  const { scene } = level;
  const group = level.groupAt(place);
  if (group?.kind === "frame") {
    const { name, parallelIterations } = scene.frames[group.frame];
    return [shown(name, 80), `loop · parallel_iterations ${parallelIterations}`];
  }
  if (group) return [shown(group.name, 80), count(group.nodes, "node")];
  const call = level.callAt(place);
  if (call) {
    const { name, first, end } = scene.bodies[call.body];
    return [shown(call.role, 40), `${shown(name, 60)} · ${count(end - first, "node")}`];
  }
  const node = level.nodeAt(place);
  const calls = scene.callsOf(node);
  const [title, label] = [shown(scene.op(node), 60), shown(level.tree.nodeLabel(node), 60)];
  if (isLoop(level, place)) {
    const loop = scene.loops.find((l) => l.node === node);
    return [title, `${label} · loop${loop ? ` · parallel_iterations ${loop.parallelIterations}` : ""}`];
  }
  return [title, calls.length === 1 ? `${label} · ${shown(scene.bodies[calls[0].body].name, 60)}` : label];
}
