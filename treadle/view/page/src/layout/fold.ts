// Folds a layout that is a tall tower into columns, as a text is set: screens are wide. It is cut
// where no box stands and few edges cross; those run on in the gutter between two columns.
import type { LayoutResult, LayoutTask } from "./layout_task.js";

const tooTall = { height: 1000, ratio: 2.2 };
const widest = 1.7;
const gutter = 30;
const track = 7;
const mostCrossing = 10;

interface Column { top: number; bottom: number; left: number; right: number; dx: number; dy: number }
interface Cut { y: number; xs: number[] }

export function fold(task: LayoutTask, result: LayoutResult): LayoutResult {
  const { width, height, pointBegin } = result;
  if (!pointBegin || height < tooTall.height || height < tooTall.ratio * width) return result;
  const count = Math.round(Math.sqrt((widest * height) / (width + gutter)));
  const cuts = count < 2 ? [] : chooseCuts(task, result, count);
  return cuts.length === 0 ? result : new Folding(task, result, cuts).result();
}

/** The places under the boxes of a layer, where all edges are upright, and those edges. */
function candidates(task: LayoutTask, result: LayoutResult): Cut[] {
  const boxes = Array.from({ length: task.count }, (_, i) => [result.y[i], result.y[i] + task.heights[i]]);
  boxes.sort((a, b) => a[0] - b[0]);
  const cuts: Cut[] = [];
  let bottom = -Infinity;
  for (const [top, end] of boxes) {
    if (top > bottom + 8 && bottom > 0) cuts.push({ y: bottom + 4, xs: [] });
    bottom = Math.max(bottom, end);
  }
  const { points, pointBegin } = result;
  for (let edge = 0; edge < task.from.length; ++edge)
    for (let i = (pointBegin as Uint32Array)[edge]; i + 1 < (pointBegin as Uint32Array)[edge + 1]; ++i) {
      const [y0, y1] = [points[2 * i + 1], points[2 * i + 3]].sort((a, b) => a - b);
      for (let k = firstAfter(cuts, y0); k < cuts.length && cuts[k].y < y1; ++k)
        if (!cuts[k].xs.includes(points[2 * i])) cuts[k].xs.push(points[2 * i]);
    }
  return cuts;
}

function firstAfter(cuts: Cut[], y: number): number {
  let [low, high] = [0, cuts.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (cuts[middle].y > y) high = middle;
    else low = middle + 1;
  }
  return low;
}

function chooseCuts(task: LayoutTask, result: LayoutResult, columns: number): Cut[] {
  const all = candidates(task, result);
  const share = result.height / columns;
  const chosen: Cut[] = [];
  for (let k = 1; k < columns; ++k) {
    const last = chosen.length > 0 ? chosen[chosen.length - 1].y : 0;
    let best: Cut | null = null;
    let least = Infinity;
    for (const cut of all) {
      const far = Math.abs(cut.y - k * share) / share;
      const cost = far + cut.xs.length * 0.06;
      if (far > 0.45 || cut.y < last + share * 0.4 || cut.xs.length > mostCrossing || cost >= least) continue;
      best = cut;
      least = cost;
    }
    if (best) chosen.push(best);
  }
  for (const cut of chosen) cut.xs.sort((a, b) => a - b);
  return chosen;
}

class Folding {
  private readonly columns: Column[];
  private readonly top: number;
  private readonly base: number;
  private readonly width: number;
  private readonly height: number;

  constructor(private readonly task: LayoutTask, private readonly old: LayoutResult, private readonly cuts: Cut[]) {
    const { padding } = task;
    const tracks = Math.max(...cuts.map(({ xs }) => xs.length)) * track;
    this.top = padding.top + tracks;
    this.columns = this.extents();
    let right = padding.side;
    this.columns.forEach((column, k) => {
      column.dx = right - column.left;
      column.dy = this.top - (k === 0 ? padding.top : column.top);
      right += column.right - column.left + (k < cuts.length ? gutter + cuts[k].xs.length * track : padding.side);
    });
    const tall = this.columns.map(({ bottom, dy }) => bottom + dy);
    this.base = Math.max(...tall) + 8;
    this.width = right;
    this.height = this.base + tracks + padding.bottom;
  }

  private extents(): Column[] {
    const { task, old, cuts } = this;
    const edges = [0, ...cuts.map(({ y }) => y), old.height - task.padding.bottom];
    const columns = edges.slice(1).map((bottom, k): Column => ({ top: edges[k], bottom, left: Infinity, right: -Infinity, dx: 0, dy: 0 }));
    const reach = (x: number, y: number) => {
      const column = columns[this.columnAt(y)];
      column.left = Math.min(column.left, x);
      column.right = Math.max(column.right, x);
    };
    for (let i = 0; i < task.count; ++i) {
      reach(old.x[i], old.y[i]);
      reach(old.x[i] + task.widths[i], old.y[i]);
    }
    for (let i = 0; i < old.points.length; i += 2) reach(old.points[i], old.points[i + 1]);
    // An edge that runs through a column without a corner is in it too.
    cuts.forEach(({ xs }, k) => {
      for (const x of xs) for (const column of [columns[k], columns[k + 1]]) {
        column.left = Math.min(column.left, x);
        column.right = Math.max(column.right, x);
      }
    });
    return columns;
  }
  private columnAt(y: number): number {
    let k = 0;
    while (k < this.cuts.length && y > this.cuts[k].y) ++k;
    return k;
  }

  result(): LayoutResult {
    const { old, columns, task } = this;
    const x = old.x.slice();
    const y = old.y.slice();
    for (let i = 0; i < task.count; ++i) {
      const { dx, dy } = columns[this.columnAt(old.y[i])];
      x[i] += dx;
      y[i] += dy;
    }
    const points: number[] = [];
    const pointBegin = new Uint32Array(task.from.length + 1);
    for (let edge = 0; edge < task.from.length; ++edge) {
      this.edge(edge, points);
      pointBegin[edge + 1] = points.length / 2;
    }
    const last = columns[columns.length - 1];
    return {
      x, y, width: this.width, height: this.height, inX: old.inX.map((at) => at + columns[0].dx),
      outX: old.outX.map((at) => at + last.dx), pointBegin, points: Float32Array.from(points),
    };
  }

  private edge(edge: number, points: number[]) {
    const { old, task, cuts } = this;
    const [begin, end] = [(old.pointBegin as Uint32Array)[edge], (old.pointBegin as Uint32Array)[edge + 1]];
    for (let i = begin; i < end; ++i) {
      const [x, y] = [old.points[2 * i], old.points[2 * i + 1]];
      const at = this.columnAt(y);
      if (i > begin) {
        const before = this.columnAt(old.points[2 * i - 1]);
        for (let k = before; k < at; ++k) points.push(...this.turn(k, x, cuts[k].xs.indexOf(x)));
        for (let k = before; k > at; --k) points.push(...pairsReversed(this.turn(k - 1, x, cuts[k - 1].xs.indexOf(x))));
      }
      points.push(...this.moved(x, y, at, i === begin && task.from[edge] >= task.count, i === end - 1 && task.to[edge] >= task.count));
    }
  }
  /** Ends at the border stay there. */
  private moved(x: number, y: number, column: number, isIn: boolean, isOut: boolean): [number, number] {
    const { dx, dy } = this.columns[column];
    return [x + dx, isIn ? 0 : isOut ? this.height : y + dy];
  }
  /** From the foot of column k, up the gutter, to the head of the next. */
  private turn(k: number, x: number, nth: number): number[] {
    const many = this.cuts[k].xs.length;
    const at = Math.max(0, nth);
    const foot = this.base + (many - at) * track - track / 2;
    const head = this.top - (many - at) * track + track / 2 - 6;
    const gutterX = this.columns[k].right + this.columns[k].dx + gutter / 2 + at * track;
    return [x + this.columns[k].dx, foot, gutterX, foot, gutterX, head, x + this.columns[k + 1].dx, head];
  }
}

function pairsReversed(points: number[]): number[] {
  const reversed: number[] = [];
  for (let i = points.length - 2; i >= 0; i -= 2) reversed.push(points[i], points[i + 1]);
  return reversed;
}
