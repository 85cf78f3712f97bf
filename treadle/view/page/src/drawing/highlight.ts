// Overlays of a picture: the selection with its edges, marks, paths, races.
import type { Level } from "../layout/levels.js";
import { lineWidth, routeLine } from "./lines.js";
import { packed, type Palette } from "./palette.js";
import type { Decorations, Mark } from "../parts.js";
import type { Picture, Place } from "../layout/picture.js";
import type { Overlay } from "./renderer.js";

/** Maximum number of edges that are shown for a node. */
const mostEdges = 400;
const mostMarks = 20_000;

/** Returns the lines of an edge, through the borders of open groups. */
export function linesOfEdge(picture: Picture, edge: number): { level: Level; bundle: number }[] {
  const { scene } = picture;
  const [source, kind] = [scene.edgeFrom[edge], scene.edgeKind[edge]];
  const found: { level: Level; bundle: number }[] = [];
  const at = picture.find(scene.edgeTo[edge]);
  if (!at) return found;
  let level: Level | null = at.level;
  let place = at.place;
  while (level?.group) {
    const end = level.endOf(source, true, kind);
    const bundle = end < 0 ? -1 : level.bundleAt(end, place, kind);
    if (bundle < 0) return found;
    found.push({ level, bundle });
    if (end < level.count) {
      descend(level, end, bundle, source, kind, found);
      return found;
    }
    place = level.place;
    level = level.parent;
  }
  return found;
}

function descend(outer: Level, place: number, bundle: number, source: number, kind: number,
  found: { level: Level; bundle: number }[]) {
  let level = outer.open.get(place);
  while (level?.group && level.tree === outer.tree) {
    const code = level.tree.childHolding(level.group, source);
    const port = level.outEdges.indexOf(bundle);
    if (code === null || port < 0) return;
    const from = level.placeOf(code);
    bundle = level.bundleAt(from, level.count + level.inEdges.length + port, kind);
    if (bundle < 0) return;
    found.push({ level, bundle });
    level = level.open.get(from);
  }
}

export function emptyOverlay(): Overlay { return { boxes: [], lines: [] }; }

export function outline(overlay: Overlay, at: Place, color: string, line: number, grow = 0, fill = 0) {
  const { level, place } = at;
  if (!level.result) return;
  overlay.boxes.push({
    x: level.x + level.result.x[place] - grow, y: level.y + level.result.y[place] - grow,
    width: level.widthOf(place) + 2 * grow, height: level.heightOf(place) + 2 * grow,
    radius: (level.nodeAt(place) >= 0 ? 5 : 9) + grow, stroke: packed(color), fill, line,
  });
}

export function trace(overlay: Overlay, { level, bundle }: { level: Level; bundle: number }, color: string, extra = 0.8) {
  const wide = lineWidth(level, bundle);
  const packedColor = packed(color);
  routeLine(level, bundle, {
    add: (x0, y0, x1, y1, w0, w1) => overlay.lines.push({
      x0, y0, x1, y1, color: packedColor,
      w0: w0 === w1 ? wide + extra : w0 + 1.5, w1: w0 === w1 ? wide + extra : w1,
    }),
  }, 2, true);
}

/** Returns the edges of a node: inputs, and outputs. */
export function traceEdgesOf(overlay: Overlay, picture: Picture, node: number, palette: Palette) {
  const { scene } = picture;
  const seen = new Map<Level, Set<number>>();
  const draw = (edge: number, color: string) => {
    for (const line of linesOfEdge(picture, edge)) {
      let bundles = seen.get(line.level);
      if (!bundles) seen.set(line.level, bundles = new Set());
      if (bundles.has(line.bundle)) continue;
      bundles.add(line.bundle);
      trace(overlay, line, color);
    }
  };
  const lastIn = Math.min(scene.inBegin[node + 1], scene.inBegin[node] + mostEdges);
  for (let edge = scene.inBegin[node]; edge < lastIn; ++edge) draw(edge, palette.accent);
  const { begin, edges } = scene.outgoing();
  const lastOut = Math.min(begin[node + 1], begin[node] + mostEdges);
  for (let i = begin[node]; i < lastOut; ++i) draw(edges[i], palette.accent);
}

function colorOfMark(mark: Mark, palette: Palette): string {
  const colors: Record<Mark, string> = {
    now: palette.accent, ready: palette.ready, path: palette.accent, added: palette.added,
    removed: palette.removed, changed: palette.changed, race: palette.danger,
  };
  return colors[mark];
}

/** Outlines marked nodes; a closed group represents its contents. */
export function outlineMarks(overlay: Overlay, picture: Picture, palette: Palette, { marks }: Decorations,
  more: Iterable<[number, Mark]>) {
  const done = new Map<Level, Set<number>>();
  let left = mostMarks;
  for (const source of [marks?.entries() ?? [], more])
    for (const [node, mark] of source) {
      if (--left < 0) return;
      const at = picture.find(node);
      if (!at) continue;
      let places = done.get(at.level);
      if (!places) done.set(at.level, places = new Set());
      if (places.has(at.place)) continue;
      places.add(at.place);
      const color = colorOfMark(mark, palette);
      outline(overlay, at, color, mark === "now" ? 3.5 : 2.25, 1, mark === "now" ? packed(color, 0.12) : 0);
    }
}
