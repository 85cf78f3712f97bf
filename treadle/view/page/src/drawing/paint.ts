// The colors of shapes: by kind of node, resource, or time.
import { isLoop } from "../layout/captions.js";
import type { Level } from "../layout/levels.js";
import { kindOfOp, opKinds } from "../scene/op_kinds.js";
import { mixed, packed, type Palette } from "./palette.js";
import type { Decorations } from "../parts.js";
import type { Scene } from "../scene/scene.js";
import type { Shapes } from "./shapes.js";

export const colorModes = ["op", "resource", "cluster", "type", "heat"] as const;
export type ColorMode = (typeof colorModes)[number];
export const colorModeNames: Record<ColorMode, string> = {
  op: "op", resource: "resource", cluster: "compiled", type: "type", heat: "heat",
};

/** Maximum number of nodes that determine the color of a group. */
const mostLookedAt = 2000;

/** Returns the hue of a node as a number, for the current color mode; -1 if it has none. */
export class Hues {
  private readonly byOp = new Map<number, number>();
  private readonly byType = new Map<string, number>();

  constructor(private readonly scene: Scene) {}

  of(node: number, mode: ColorMode): number {
    const { scene } = this;
    if (mode === "op") return this.ofOp(scene.nodeOp[node]);
    if (mode === "resource") {
      const effects = scene.effectsOf(node);
      const effect = effects.find(({ writes }) => writes) ?? effects[0];
      return effect ? effect.resource : -1;
    }
    if (mode === "cluster") return scene.nodeCluster[node];
    if (mode === "type") {
      const type = scene.outputType(node, 0).replace(/\[.*$/s, "");
      return type === "" ? -1 : this.ofType(type);
    }
    return -1;
  }
  private ofOp(op: number): number {
    let hue = this.byOp.get(op);
    if (hue === undefined) this.byOp.set(op, hue = kindOfOp(this.scene.text(op)));
    return hue;
  }
  private ofType(type: string): number {
    let hue = this.byType.get(type);
    if (hue === undefined) this.byType.set(type, hue = this.byType.size);
    return hue;
  }

  /** Returns the legend of the visible colors. */
  legend(mode: ColorMode): { text: string; hue: number }[] {
    if (mode === "op") {
      const used = new Set(this.scene.nodeOp);
      const kinds = new Set([...used].map((op) => this.ofOp(op)));
      return opKinds.map((text, hue) => ({ text, hue })).filter(({ hue }) => kinds.has(hue));
    }
    if (mode === "resource") return this.scene.resources.slice(0, 12).map(({ name }, hue) => ({ text: name, hue }));
    if (mode === "type") return [...this.byType].slice(0, 12).map(([text, hue]) => ({ text, hue }));
    const clusters = this.scene.clusters.length;
    if (mode === "cluster" && clusters > 8) return [{ text: `compiled: a colour for each of ${clusters} clusters`, hue: 0 }];
    if (mode === "cluster") return this.scene.clusters.map(({ ops }, hue) => ({ text: `cluster ${hue + 1}, ${ops} ops`, hue }));
    return [];
  }
}

export function paintShapes(shapes: Shapes, palette: Palette, mode: ColorMode, hues: Hues, decorations: Decorations) {
  const groupFills = palette.group.map((color) => packed(color));
  for (let i = 0; i < shapes.boxCount; ++i) {
    const level = shapes.levels[shapes.boxLevel[i]];
    const place = shapes.boxPlace[i];
    const node = level.nodeAt(place);
    if (i < shapes.openCount) paintOpen(shapes, i, level, place, palette, groupFills);
    else if (node < 0) paintClosed(shapes, i, level, place, palette, decorations, hueInside(level, place, mode, hues));
    else paintNode(shapes, i, node, palette, hues.of(node, mode), decorations, mode);
  }
  const colors = [palette.edge, palette.control, palette.back, palette.soft, palette.chain].map((color) => packed(color));
  for (let i = 0; i < shapes.lineCount; ++i) shapes.lineColor[i] = colors[shapes.lineKind[i]];
}

function paintOpen(shapes: Shapes, i: number, level: Level, place: number, palette: Palette, fills: number[]) {
  const loop = isLoop(level, place);
  let depth = 0;
  for (let at = level.parent; at; at = at.parent) ++depth;
  shapes.fills[i] = loop ? packed(palette.loop) : fills[depth % fills.length];
  shapes.strokes[i] = packed(loop ? palette.loopLine : palette.groupLine);
  shapes.boxStyle[4 * i + 1] = loop ? 6 : 4;
}

function paintClosed(shapes: Shapes, i: number, level: Level, place: number, palette: Palette, decorations: Decorations,
  hue: number) {
  const loop = isLoop(level, place);
  const heat = decorations.heat ? heatInside(level, place, decorations.heat) : 0;
  const tint = hue < 0 ? null : palette.hues[hue % palette.hues.length];
  const base = tint?.fill ?? (loop ? palette.loop : palette.closed);
  shapes.fills[i] = packed(heat > 0 ? mixed(base, palette.hot, 0.15 + 0.6 * heat) : base);
  shapes.strokes[i] = packed(tint?.line ?? (loop ? palette.loopLine : palette.boxLine));
  shapes.boxStyle[4 * i + 1] = loop ? 6 : 4;
}

/** Returns the hue of most compiled or effectful nodes in a closed group; -1 if there are none. */
function hueInside(level: Level, place: number, mode: ColorMode, hues: Hues): number {
  const group = level.groupAt(place);
  if (!group || (mode !== "cluster" && mode !== "resource")) return -1;
  const times = new Map<number, number>();
  const codes = [~group.id];
  let left = mostLookedAt;
  for (let code = codes.pop(); code !== undefined && left > 0; code = codes.pop()) {
    if (code < 0) { for (const inner of level.tree.groups[~code].children) codes.push(inner); continue; }
    --left;
    const hue = hues.of(code, mode);
    if (hue >= 0) times.set(hue, (times.get(hue) ?? 0) + 1);
  }
  let best = -1;
  for (const [hue, count] of times) if (best < 0 || count > (times.get(best) ?? 0)) best = hue;
  return best;
}

function heatInside(level: Level, place: number, heat: Map<number, number>): number {
  const { tree } = level;
  const group = level.groupAt(place);
  if (!group) return 0;
  let most = 0;
  for (const [node, value] of heat)
    if (tree.holds(node) && value > most && tree.childHolding(level.group as NonNullable<Level["group"]>, node) === ~group.id) most = value;
  return most;
}

function paintNode(shapes: Shapes, i: number, node: number, palette: Palette, hue: number, { heat, dead }: Decorations, mode: ColorMode) {
  if (dead?.has(node)) {
    shapes.fills[i] = packed(palette.background, 0.6);
    shapes.strokes[i] = packed(palette.groupLine, 0.7);
    return;
  }
  const warmth = heat?.get(node);
  if (warmth !== undefined && (mode === "heat" || mode === "op")) {
    shapes.fills[i] = packed(mixed(palette.box, palette.hot, 0.06 + 0.7 * warmth));
    shapes.strokes[i] = packed(mixed(palette.boxLine, palette.hot, 0.3 + 0.7 * warmth));
    return;
  }
  if (hue < 0) {
    shapes.fills[i] = packed(palette.box);
    shapes.strokes[i] = packed(palette.boxLine);
    return;
  }
  const { fill, line } = palette.hues[hue % palette.hues.length];
  shapes.fills[i] = packed(fill);
  shapes.strokes[i] = packed(line);
}
