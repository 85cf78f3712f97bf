// What the analysis of a trace asks of a graph.
import { EdgeKind, type Scene } from "../scene.js";

export interface Wires {
  /** The node that a slice of this name ran, or -1. */
  find(name: string): number;
  /** Calls `visit` with each node that sends to `node`, and whether it does so to the next iteration. */
  inputs(node: number, visit: (from: number, isBack: boolean) => void): void;
}

/** Finds nodes by the names of slices. Inside of a call that was inlined, a node's name stands behind
    that of the call: `layer/call/matmul` is `matmul` of a function. */
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

export function wiresOf(scene: Scene): Wires {
  const kindOf = (node: number) => scene.bodies[scene.bodyOf(node)].kind;
  // The flat body repeats what stands in the others, and is shown by the stepper alone.
  const find = (name: string) => {
    const node = scene.find(name, 0);
    return node === null || kindOf(node) === "flat" ? null : node;
  };
  return {
    find: (name) => findNode(name, find, (node) => kindOf(node) === "function"),
    inputs(node, visit) {
      for (let edge = scene.inBegin[node]; edge < scene.inBegin[node + 1]; ++edge)
        visit(scene.edgeFrom[edge], scene.edgeKind[edge] === EdgeKind.Back);
    },
  };
}
