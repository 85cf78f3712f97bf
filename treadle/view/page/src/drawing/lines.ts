// The line of an edge in a level, as segments with rounded corners and an arrow at the end.
import { Stub, type Level } from "../layout/levels.js";

export interface LineSink {
  add(x0: number, y0: number, x1: number, y1: number, w0: number, w1: number, start: number, period: number,
    kind: number): void;
}

const radius = 7;
const stubLength = 11;
/** By EdgeKind: the dash period in pixels. */
const periods = [0, 7, 0, 4, 0];

/** The corners of a bundle in the world: x, y, x, y. */
export function cornersOf(level: Level, bundle: number, isWhole = false): number[] {
  const result = level.result;
  if (!result || level.isHidden(bundle)) return [];
  if (!isWhole && level.stubs[bundle] !== Stub.none) return stub(level, bundle);
  const { pointBegin, points } = result;
  if (pointBegin && pointBegin[bundle] < pointBegin[bundle + 1]) {
    const corners: number[] = [];
    for (let i = pointBegin[bundle]; i < pointBegin[bundle + 1]; ++i)
      corners.push(points[2 * i] + level.x, points[2 * i + 1] + level.y);
    return corners;
  }
  return straight(level, bundle);
}

function stub(level: Level, bundle: number): number[] {
  const result = level.result as NonNullable<Level["result"]>;
  const atTarget = level.stubs[bundle] === Stub.atTarget;
  const place = (atTarget ? level.bundles.to : level.bundles.from)[bundle];
  // Lines between two such ends aren't drawn.
  if (place >= level.count) return [];
  const offset = level.open.has(place) ? portOffset(level, place, bundle, atTarget) : atTarget ? 12 : level.widthOf(place) - 12;
  const x = level.x + result.x[place] + offset;
  const y = level.y + result.y[place] + (atTarget ? -stubLength : level.heightOf(place));
  return [x, y, x, y + stubLength];
}

function straight(level: Level, bundle: number): number[] {
  const { from, to } = level.bundles;
  const result = level.result as NonNullable<Level["result"]>;
  if (level.isBeside(bundle)) {
    const y = result.y[from[bundle]] + level.heights[from[bundle]] / 2;
    return [result.x[from[bundle]] + level.widths[from[bundle]] + level.x, y + level.y, result.x[to[bundle]] + level.x, y + level.y];
  }
  const ins = level.inEdges.length;
  const end = (at: number, incoming: boolean): [number, number] => {
    if (at >= level.count + ins) return [result.outX[at - level.count - ins], result.height];
    if (at >= level.count) return [result.inX[at - level.count], 0];
    return [result.x[at] + portOffset(level, at, bundle, incoming), result.y[at] + (incoming ? 0 : level.heightOf(at))];
  };
  const [x0, y0] = end(from[bundle], false);
  const [x1, y1] = end(to[bundle], true);
  return [x0 + level.x, y0 + level.y, x1 + level.x, y1 + level.y];
}

function portOffset(level: Level, place: number, bundle: number, incoming: boolean): number {
  const inner = level.open.get(place);
  if (inner?.result) {
    const port = (incoming ? inner.inEdges : inner.outEdges).indexOf(bundle);
    if (port >= 0) return (incoming ? inner.result.inX : inner.result.outX)[port];
  }
  return level.widthOf(place) / 2;
}

/** The width grows with the number of bundled edges. */
export function lineWidth(level: Level, bundle: number): number {
  return 1.2 + Math.min(3, Math.log2(level.bundles.counts[bundle]) * 0.4);
}

export function routeLine(level: Level, bundle: number, sink: LineSink, detail: number, isWhole = false) {
  const corners = cornersOf(level, bundle, isWhole);
  if (corners.length < 4) return;
  const kind = level.bundles.kinds[bundle];
  const width = lineWidth(level, bundle);
  const last = corners.length - 2;
  if (detail > 0 && corners.length === 4 && corners[0] !== corners[2] && corners[1] !== corners[3])
    curve(corners, sink, width, kind, detail);
  else polyline(corners, sink, width, kind, detail);
  const ends = level.bundles.to[bundle] < level.count && (isWhole || level.stubs[bundle] !== Stub.atSource);
  if (detail > 0 && ends && !level.isBeside(bundle)) arrow(corners, last, sink, width, kind);
}

function arrow(corners: number[], last: number, sink: LineSink, width: number, kind: number) {
  const [x, y] = [corners[last], corners[last + 1]];
  const [px, py] = [corners[last - 2], corners[last - 1]];
  // Curves arrive from above, as lines with corners do.
  const along = last === 2 && px !== x ? [0, y >= py ? 1 : -1] : [Math.sign(x - px), Math.sign(y - py)];
  const size = 5 + width;
  sink.add(x - along[0] * size, y - along[1] * size, x, y, size * 0.95, 0, 0, 0, kind);
}

function polyline(corners: number[], sink: LineSink, width: number, kind: number, detail: number) {
  const period = periods[kind];
  let start = 0;
  let [x, y] = [corners[0], corners[1]];
  const line = (toX: number, toY: number) => {
    sink.add(x, y, toX, toY, width, width, start, period, kind);
    start += Math.hypot(toX - x, toY - y);
    x = toX;
    y = toY;
  };
  for (let i = 2; i < corners.length; i += 2) {
    const [cx, cy] = [corners[i], corners[i + 1]];
    if (i + 2 >= corners.length || detail < 2) { line(cx, cy); continue; }
    const [nx, ny] = [corners[i + 2], corners[i + 3]];
    const before = Math.hypot(cx - x, cy - y);
    const after = Math.hypot(nx - cx, ny - cy);
    const r = Math.min(radius, before / 2, after / 2);
    if (r < 1) { line(cx, cy); continue; }
    const [ax, ay] = [cx - ((cx - x) / before) * r, cy - ((cy - y) / before) * r];
    const [bx, by] = [cx + ((nx - cx) / after) * r, cy + ((ny - cy) / after) * r];
    line(ax, ay);
    for (const t of [0.33, 0.67, 1]) {
      const s = 1 - t;
      line(s * s * ax + 2 * s * t * cx + t * t * bx, s * s * ay + 2 * s * t * cy + t * t * by);
    }
  }
}

/** A curve from below one box to above another, vertical at both ends. */
function curve(corners: number[], sink: LineSink, width: number, kind: number, detail: number) {
  const [x0, y0, x1, y1] = corners;
  const bend = Math.min(80, Math.max(24, Math.abs(y1 - y0) / 2));
  const steps = detail > 1 ? 12 : 6;
  let [x, y, start] = [x0, y0, 0];
  for (let i = 1; i <= steps; ++i) {
    const t = i / steps;
    const s = 1 - t;
    const toX = (s * s * s + 3 * s * s * t) * x0 + (3 * s * t * t + t * t * t) * x1;
    const toY = s * s * s * y0 + 3 * s * s * t * (y0 + bend) + 3 * s * t * t * (y1 - bend) + t * t * t * y1;
    sink.add(x, y, toX, toY, width, width, start, periods[kind], kind);
    start += Math.hypot(toX - x, toY - y);
    x = toX;
    y = toY;
  }
}
