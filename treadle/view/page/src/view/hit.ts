// Finds the shape at a point of the picture.
import type { Level } from "../layout/levels.js";
import { cornersOf } from "../drawing/lines.js";
import type { Place } from "../layout/picture.js";

interface Grid { result: object; cell: number; columns: number; rows: number; begin: Uint32Array; places: Uint32Array }

const grids = new WeakMap<Level, Grid>();
const fewBoxes = 400;

/** Returns the innermost box at a point; of an open group, only its border and header. */
export function boxAt(root: Level, x: number, y: number): Place | null {
  let found: Place | null = null;
  let level: Level | undefined = root;
  while (level) {
    const place = childAt(level, x - level.x, y - level.y);
    if (place < 0) return found;
    found = { level, place };
    level = level.open.get(place);
  }
  return found;
}

function childAt(level: Level, x: number, y: number): number {
  const { result } = level;
  if (!result) return -1;
  const within = (place: number) => x >= result.x[place] && y >= result.y[place] &&
    x <= result.x[place] + level.widthOf(place) && y <= result.y[place] + level.heightOf(place);
  if (level.count <= fewBoxes) {
    for (let place = 0; place < level.count; ++place) if (within(place)) return place;
    return -1;
  }
  const grid = gridOf(level);
  const column = Math.floor(x / grid.cell);
  const row = Math.floor(y / grid.cell);
  if (column < 0 || row < 0 || column >= grid.columns || row >= grid.rows) return -1;
  const cell = row * grid.columns + column;
  for (let i = grid.begin[cell]; i < grid.begin[cell + 1]; ++i) if (within(grid.places[i])) return grid.places[i];
  return -1;
}

function gridOf(level: Level): Grid {
  const result = level.result as NonNullable<Level["result"]>;
  const known = grids.get(level);
  if (known?.result === result) return known;
  const cell = Math.max(120, Math.sqrt((result.width * result.height) / level.count));
  const columns = Math.ceil(result.width / cell) + 1;
  const rows = Math.ceil(result.height / cell) + 1;
  const begin = new Uint32Array(columns * rows + 1);
  const each = (visit: (cell: number, place: number) => void) => {
    for (let place = 0; place < level.count; ++place) {
      const right = Math.floor((result.x[place] + level.widthOf(place)) / cell);
      const bottom = Math.floor((result.y[place] + level.heightOf(place)) / cell);
      for (let row = Math.floor(result.y[place] / cell); row <= bottom; ++row)
        for (let column = Math.floor(result.x[place] / cell); column <= right; ++column)
          if (row >= 0 && column >= 0 && row < rows && column < columns) visit(row * columns + column, place);
    }
  };
  each((at) => { ++begin[at + 1]; });
  for (let i = 1; i < begin.length; ++i) begin[i] += begin[i - 1];
  const next = begin.slice();
  const places = new Uint32Array(begin[columns * rows]);
  each((at, place) => { places[next[at]++] = place; });
  const grid = { result, cell, columns, rows, begin, places };
  grids.set(level, grid);
  return grid;
}

/** The bundle whose line is nearest to a point, within a distance. */
export function lineAt(levels: Level[], x: number, y: number, reach: number): { level: Level; bundle: number } | null {
  let best: { level: Level; bundle: number } | null = null;
  let least = reach;
  for (const level of levels) {
    if (level.bundles.from.length > 6000) continue;
    const { result } = level;
    if (!result || x < level.x - 1 || y < level.y - 1 || x > level.x + result.width + 1 || y > level.y + result.height + 1) continue;
    for (let bundle = 0; bundle < level.bundles.from.length; ++bundle) {
      const corners = cornersOf(level, bundle);
      for (let i = 0; i + 3 < corners.length; i += 2) {
        const distance = distanceTo(x, y, corners[i], corners[i + 1], corners[i + 2], corners[i + 3]);
        if (distance < least) { least = distance; best = { level, bundle }; }
      }
    }
  }
  return best;
}

function distanceTo(x: number, y: number, x0: number, y0: number, x1: number, y1: number): number {
  const [dx, dy] = [x1 - x0, y1 - y0];
  const t = Math.min(1, Math.max(0, ((x - x0) * dx + (y - y0) * dy) / (dx * dx + dy * dy || 1)));
  return Math.hypot(x - x0 - t * dx, y - y0 - t * dy);
}
