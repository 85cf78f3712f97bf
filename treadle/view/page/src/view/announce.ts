// The announcements of the selection for screen readers.
import { headerOf } from "../layout/captions.js";
import type { Selection } from "./graph_view.js";
import { EdgeKind, type Scene } from "../scene/scene.js";
import { shown } from "../texts/shown.js";

const mostNamed = 4;

export function sentenceFor(scene: Scene, selection: Selection | null): string {
  if (!selection) return "Nothing selected.";
  const { node, place } = selection;
  if (node === null) {
    const isOpen = place.level.open.has(place.place);
    return `${headerOf(place.level, place.place).join(", ")}, ${isOpen ? "open" : "closed"}. Enter ${isOpen ? "closes" : "opens"} it.`;
  }
  const inputs: number[] = [];
  for (let edge = scene.inBegin[node]; edge < scene.inBegin[node + 1]; ++edge)
    if (scene.edgeKind[edge] !== EdgeKind.Soft) inputs.push(scene.edgeFrom[edge]);
  const { begin, edges } = scene.outgoing();
  const outputs = Array.from(edges.subarray(begin[node], begin[node + 1]), (edge) => scene.edgeTo[edge]);
  return `${shown(scene.op(node), 60)} ${shown(scene.name(node), 120)}. ${listed(scene, "Inputs", inputs)} ${listed(scene, "Goes to", outputs)}`;
}

function listed(scene: Scene, what: string, nodes: number[]): string {
  if (nodes.length === 0) return `${what}: none.`;
  const names = nodes.slice(0, mostNamed).map((node) => shown(scene.name(node), 60));
  const rest = nodes.length - mostNamed;
  return `${what}: ${names.join(", ")}${rest > 0 ? ` and ${rest} more` : ""}.`;
}
