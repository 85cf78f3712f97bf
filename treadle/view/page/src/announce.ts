// What a screen reader is told of the selection.
import { headerOf } from "./captions.js";
import type { Selection } from "./graph_view.js";
import { EdgeKind, type Scene } from "./scene.js";
import { shown } from "./shown.js";

const mostNamed = 4;

export function sentenceFor(scene: Scene, selection: Selection | null): string {
  if (!selection) return "Nothing selected.";
  const { node, place } = selection;
  if (node === null) {
    const isOpen = place.level.open.has(place.place);
    return `${headerOf(place.level, place.place).join(", ")}, ${isOpen ? "open" : "closed"}. Enter ${isOpen ? "closes" : "opens"} it.`;
  }
  const inputs: string[] = [];
  for (let edge = scene.inBegin[node]; edge < scene.inBegin[node + 1]; ++edge)
    if (scene.edgeKind[edge] !== EdgeKind.Soft) inputs.push(named(scene, scene.edgeFrom[edge]));
  const { begin, edges } = scene.outgoing();
  const outputs = Array.from(edges.subarray(begin[node], Math.min(begin[node + 1], begin[node] + 50)), (edge) => named(scene, scene.edgeTo[edge]));
  return `${shown(scene.op(node), 60)} ${shown(scene.name(node), 120)}. ${listed("Inputs", inputs)} ${listed("Goes to", outputs)}`;
}

function named(scene: Scene, node: number): string { return shown(scene.name(node), 60); }

function listed(what: string, names: string[]): string {
  if (names.length === 0) return `${what}: none.`;
  const rest = names.length - mostNamed;
  return `${what}: ${names.slice(0, mostNamed).join(", ")}${rest > 0 ? ` and ${rest} more` : ""}.`;
}
