// The information about a graph that the analysis of a trace needs.
import { EdgeKind, type Scene } from "../scene/scene.js";

export interface Wires {
  /** The node that a slice of this name ran, or -1. */
  find(name: string): number;
  /** Calls `visit` with each node that sends to `node`, and whether it does so to the next iteration. */
  inputs(node: number, visit: (from: number, isBack: boolean) => void): void;
}

/** Finds nodes by the names of slices. The name of a node of an inlined call follows that of the call:
    `layer/call/matmul` is `matmul` of a function. */
export function findNode(
  name: string,
  find: (name: string) => number | null,
  isInFunction: (node: number) => boolean,
): number {
  const node = find(name);
  if (node !== null) return node;
  for (let slash = name.indexOf("/"); slash >= 0; slash = name.indexOf("/", slash + 1)) {
    const inner = find(name.slice(slash + 1));
    if (inner !== null && isInFunction(inner)) return inner;
  }
  return -1;
}

const kindOf = (scene: Scene, node: number) => scene.bodies[scene.bodyOf(node)].kind;

/** Returns the node to show for a slice of this name, or -1. Nodes of the flat body aren't used, since
    only the stepper shows it. A loop or call represents the nodes that it was lowered to, such as
    `while/pivot`. */
export function shownNode(scene: Scene, name: string): number {
  const find = (text: string) => {
    const node = scene.find(text, 0);
    return node === null || kindOf(scene, node) === "flat" ? null : node;
  };
  const node = findNode(name, find, (found) => kindOf(scene, found) === "function");
  if (node >= 0) return node;
  const loop = scene.loops.find((each) => each.name === name && each.node >= 0);
  if (loop) return loop.node;
  const frame = scene.frames.findIndex((each) => each.name === name && scene.bodies[each.body]?.kind !== "flat");
  if (frame >= 0) return scene.nodeFrame.indexOf(frame);
  for (let slash = name.lastIndexOf("/"); slash > 0; slash = name.lastIndexOf("/", slash - 1)) {
    const around = find(name.slice(0, slash));
    if (around !== null && scene.callsOf(around).length) return around;
  }
  return -1;
}

/** The wiring to look for causes in: that of the graph as the executor sees it, where it is there. */
export function wiresOf(scene: Scene): Wires {
  const flat = scene.bodies.findIndex((body) => body.kind === "flat");
  const findFlat = (name: string) => {
    const node = flat < 0 ? null : scene.find(name, flat);
    return node !== null && node >= scene.bodies[flat].first && node < scene.bodies[flat].end ? node : null;
  };
  const find = (name: string) => scene.find(name, 0);
  return {
    find: (name) => findFlat(name) ?? findNode(name, find, (node) => kindOf(scene, node) === "function"),
    inputs(node, visit) {
      for (let edge = scene.inBegin[node]; edge < scene.inBegin[node + 1]; ++edge)
        visit(scene.edgeFrom[edge], scene.edgeKind[edge] === EdgeKind.Back);
    },
  };
}
