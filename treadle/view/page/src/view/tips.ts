// The tooltip at the pointer.
import { make } from "../elements/element.js";
import { headerOf } from "../layout/captions.js";
import type { Level } from "../layout/levels.js";
import type { Place } from "../layout/picture.js";
import { EdgeKind } from "../scene/scene.js";
import { shown } from "../texts/shown.js";
import { count } from "../texts/texts.js";

export const edgeKindNames = ["data", "control edge", "back edge: the next iteration", "soft edge: either order is right", "chain: orders effects"];

export function tipOfBox({ level, place }: Place): HTMLElement[] {
  const node = level.nodeAt(place);
  if (node < 0) {
    const [title, note] = headerOf(level, place);
    return [make("strong", {}, title), make("span", {}, note)];
  }
  const { scene } = level;
  const types: string[] = [];
  for (let port = 0; port < Math.min(4, scene.outputCount(node)); ++port) types.push(shown(scene.outputType(node, port), 80));
  const line = scene.text(scene.nodeLine[node]);
  return [
    make("strong", {}, shown(scene.op(node), 80)),
    make("span", {}, shown(scene.name(node), 160)),
    ...(types.length ? [make("span", { class: "type" }, types.join(", "))] : []),
    ...(line ? [make("span", { class: "faint" }, shown(line, 120))] : []),
  ];
}

export function tipOfLine(level: Level, bundle: number): HTMLElement[] {
  const { scene, bundles } = level;
  const edge = bundles.edges[bundle];
  const kind = bundles.kinds[bundle];
  const many = bundles.counts[bundle];
  const ends = `${shown(scene.name(scene.edgeFrom[edge]), 60)} → ${shown(scene.name(scene.edgeTo[edge]), 60)}`;
  const type = kind === EdgeKind.Data || kind === EdgeKind.Back ? shown(scene.edgeType(edge), 100) : "";
  return [
    make("strong", {}, many > 1 ? count(many, "edge") : type || edgeKindNames[kind]),
    make("span", {}, many > 1 ? `among them ${ends}` : ends),
    ...(kind !== EdgeKind.Data ? [make("span", { class: "faint" }, edgeKindNames[kind])] : []),
  ];
}
