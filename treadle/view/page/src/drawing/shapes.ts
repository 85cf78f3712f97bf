// A laid-out picture as arrays for a renderer: boxes (open groups first, outer ones before inner
// ones), and line segments. Large pictures are sorted into tiles by rows, so that invisible parts
// aren't drawn.
import type { Level } from "../layout/levels.js";
import { routeLine, type LineSink } from "./lines.js";
import type { Picture } from "../layout/picture.js";

export interface Tiles {
  /** The top of the row; tiles are `size` wide and high. */
  left: number; top: number; size: number; columns: number; rows: number;
  /** The start of each tile in its array; elements from `begin[columns * rows]` on are always drawn. */
  begin: Uint32Array;
}

export interface Shapes {
  levels: Level[];
  boxCount: number;
  openCount: number;
  /** x, y, width, height. */
  boxes: Float32Array;
  boxLevel: Int32Array;
  boxPlace: Int32Array;
  fills: Uint32Array;
  strokes: Uint32Array;
  /** Radius; width of the outline in quarters of a pixel; whether it is dashed; unused. */
  boxStyle: Uint8Array;
  lineCount: number;
  /** x0, y0, x1, y1. */
  lines: Float32Array;
  /** Width at each end, start of the dashes, their period (0: none). */
  lineStyle: Float32Array;
  lineColor: Uint32Array;
  lineKind: Uint8Array;
  boxTiles: Tiles | null;
  lineTiles: Tiles | null;
  width: number;
  height: number;
}

const manyShapes = 20_000;

export function shapesOf(picture: Picture): Shapes {
  const levels = picture.levels();
  const total = levels.reduce((sum, level) => sum + level.count, 0);
  const openCount = levels.length - 1;
  const boxes = new Float32Array(total * 4);
  const boxLevel = new Int32Array(total);
  const boxPlace = new Int32Array(total);
  const boxStyle = new Uint8Array(total * 4);
  let atOpen = 0;
  let atClosed = openCount;
  levels.forEach((level, l) => {
    const { x, y } = level.result as NonNullable<Level["result"]>;
    for (let place = 0; place < level.count; ++place) {
      const i = level.open.has(place) ? atOpen++ : atClosed++;
      boxes[4 * i] = level.x + x[place];
      boxes[4 * i + 1] = level.y + y[place];
      boxes[4 * i + 2] = level.widthOf(place);
      boxes[4 * i + 3] = level.heightOf(place);
      boxLevel[i] = l;
      boxPlace[i] = place;
      boxStyle[4 * i] = radiusOf(level, place);
      boxStyle[4 * i + 1] = 4;
    }
  });
  const lines = new Lines();
  for (const level of levels) for (let bundle = 0; bundle < level.bundles.from.length; ++bundle)
    routeLine(level, bundle, lines, detailOf(level));
  const root = levels[0].result as NonNullable<Level["result"]>;
  const shapes: Shapes = {
    levels, boxCount: total, openCount, boxes, boxLevel, boxPlace, boxStyle,
    fills: new Uint32Array(total), strokes: new Uint32Array(total),
    ...lines.finished(), boxTiles: null, lineTiles: null, width: root.width, height: root.height,
  };
  if (total > manyShapes) sortBoxes(shapes);
  if (shapes.lineCount > manyShapes) sortLines(shapes);
  return shapes;
}

function radiusOf(level: Level, place: number): number {
  const group = level.groupAt(place);
  if (group?.kind === "frame") return 14;
  if (level.besideOf[place] >= 0) return 7;
  return group || level.opens(place) ? 8 : 5;
}

/** Detail of lines: 2 with rounded corners, 1 plain, 0 straight without arrows. */
function detailOf(level: Level): number {
  if (level.bundles.from.length > 20_000) return 0;
  return level.bundles.from.length > 3000 ? 1 : 2;
}

class Lines implements LineSink {
  private lines = new Float32Array(4096);
  private style = new Float32Array(4096);
  private kinds = new Uint8Array(1024);
  private count = 0;

  add(x0: number, y0: number, x1: number, y1: number, w0: number, w1: number, start: number, period: number,
    kind: number) {
    if (this.count === this.kinds.length) this.grow();
    this.lines.set([x0, y0, x1, y1], 4 * this.count);
    this.style.set([w0, w1, start, period], 4 * this.count);
    this.kinds[this.count++] = kind;
  }
  private grow() {
    const grown = <T extends Float32Array | Uint8Array>(old: T, made: T): T => { made.set(old); return made; };
    this.lines = grown(this.lines, new Float32Array(this.lines.length * 2));
    this.style = grown(this.style, new Float32Array(this.style.length * 2));
    this.kinds = grown(this.kinds, new Uint8Array(this.kinds.length * 2));
  }
  finished() {
    return {
      lineCount: this.count, lines: this.lines.subarray(0, 4 * this.count),
      lineStyle: this.style.subarray(0, 4 * this.count), lineKind: this.kinds.subarray(0, this.count),
      lineColor: new Uint32Array(this.count),
    };
  }
}

function tilesOver(shapes: Shapes): Tiles {
  const columns = 32;
  const size = Math.max(shapes.width, shapes.height) / columns;
  const rows = Math.max(1, Math.ceil(shapes.height / size));
  return { left: 0, top: 0, size, columns, rows, begin: new Uint32Array(columns * rows + 2) };
}

/** Returns the tile of a point; the last index for shapes that are too large for a tile. */
function tileOf(tiles: Tiles, x: number, y: number, width: number, height: number): number {
  if (width > tiles.size || height > tiles.size) return tiles.columns * tiles.rows;
  const column = Math.min(tiles.columns - 1, Math.max(0, Math.floor(x / tiles.size)));
  const row = Math.min(tiles.rows - 1, Math.max(0, Math.floor(y / tiles.size)));
  return row * tiles.columns + column;
}

function sortedBy(tiles: Tiles, keys: Uint16Array): Uint32Array {
  for (const key of keys) ++tiles.begin[key + 1];
  for (let i = 1; i < tiles.begin.length; ++i) tiles.begin[i] += tiles.begin[i - 1];
  const next = tiles.begin.slice();
  const order = new Uint32Array(keys.length);
  for (let i = 0; i < keys.length; ++i) order[next[keys[i]]++] = i;
  return order;
}

function sortBoxes(shapes: Shapes) {
  const tiles = tilesOver(shapes);
  const { openCount, boxes } = shapes;
  const keys = Uint16Array.from({ length: shapes.boxCount - openCount }, (_, i) => {
    const at = 4 * (i + openCount);
    return tileOf(tiles, boxes[at] + boxes[at + 2] / 2, boxes[at + 1] + boxes[at + 3] / 2, boxes[at + 2], boxes[at + 3]);
  });
  const order = sortedBy(tiles, keys);
  const old = { boxes: boxes.slice(), level: shapes.boxLevel.slice(), place: shapes.boxPlace.slice(), style: shapes.boxStyle.slice() };
  order.forEach((from, to) => {
    const a = from + openCount;
    const b = to + openCount;
    for (let k = 0; k < 4; ++k) {
      boxes[4 * b + k] = old.boxes[4 * a + k];
      shapes.boxStyle[4 * b + k] = old.style[4 * a + k];
    }
    shapes.boxLevel[b] = old.level[a];
    shapes.boxPlace[b] = old.place[a];
  });
  shapes.boxTiles = tiles;
}

function sortLines(shapes: Shapes) {
  const tiles = tilesOver(shapes);
  const { lines } = shapes;
  const keys = Uint16Array.from({ length: shapes.lineCount }, (_, i) => {
    const [x0, y0, x1, y1] = [lines[4 * i], lines[4 * i + 1], lines[4 * i + 2], lines[4 * i + 3]];
    return tileOf(tiles, (x0 + x1) / 2, (y0 + y1) / 2, Math.abs(x1 - x0), Math.abs(y1 - y0));
  });
  const order = sortedBy(tiles, keys);
  const old = { lines: lines.slice(), style: shapes.lineStyle.slice(), kinds: shapes.lineKind.slice() };
  order.forEach((a, b) => {
    for (let k = 0; k < 4; ++k) {
      lines[4 * b + k] = old.lines[4 * a + k];
      shapes.lineStyle[4 * b + k] = old.style[4 * a + k];
    }
    shapes.lineKind[b] = old.kinds[a];
  });
  shapes.lineTiles = tiles;
}
