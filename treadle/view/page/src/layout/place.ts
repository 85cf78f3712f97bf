// A placement in layers that takes linear time, for groups that are too large for ELK: longest path
// layers, a few barycenter sweeps, and columns where the layers would be too tall a tower.

export interface Places { x: Float32Array; y: Float32Array; width: number; height: number }

/** Returns the layer of each node: one more than the deepest of its inputs. In a cycle, the node with
    the smallest index comes first. */
export function layersOf(count: number, from: Int32Array, to: Int32Array): Int32Array {
  const { begin, edges } = bySource(count, from);
  const waiting = new Int32Array(count);
  for (let edge = 0; edge < to.length; ++edge) if (from[edge] !== to[edge]) ++waiting[to[edge]];
  const layer = new Int32Array(count).fill(-1);
  const depth = new Int32Array(count);
  const queue = new Int32Array(count);
  let head = 0;
  let tail = 0;
  for (let node = 0; node < count; ++node)
    if (waiting[node] === 0) { queue[tail++] = node; layer[node] = 0; }
  let stuck = 0;
  while (tail < count || head < tail) {
    if (head === tail) {
      while (layer[stuck] >= 0) ++stuck;
      layer[stuck] = depth[stuck];
      queue[tail++] = stuck;
    }
    const node = queue[head++];
    for (let i = begin[node]; i < begin[node + 1]; ++i) {
      const target = to[edges[i]];
      if (target === node || layer[target] >= 0) continue;
      depth[target] = Math.max(depth[target], layer[node] + 1);
      if (--waiting[target] > 0) continue;
      layer[target] = depth[target];
      queue[tail++] = target;
    }
  }
  return layer;
}

function bySource(count: number, from: Int32Array): { begin: Int32Array; edges: Int32Array } {
  const begin = new Int32Array(count + 1);
  for (const node of from) ++begin[node + 1];
  for (let node = 0; node < count; ++node) begin[node + 1] += begin[node];
  const next = begin.slice();
  const edges = new Int32Array(from.length);
  from.forEach((node, edge) => { edges[next[node]++] = edge; });
  return { begin, edges };
}

const gapX = 16;
const gapY = 34;
const sweeps = 4;

/** Places boxes of widths and heights; edges lead downwards where there is no cycle. */
export function place(widths: Float32Array, heights: Float32Array, from: Int32Array, to: Int32Array): Places {
  const count = widths.length;
  const layer = layersOf(count, from, to);
  const rows = rowsOf(layer, Math.ceil(Math.sqrt(count) * 1.2) + 8);
  const x = new Float32Array(count);
  const y = new Float32Array(count);
  const before = bySource(count, to);
  const after = bySource(count, from);
  for (const row of rows) packRow(row, x, widths);
  for (let sweep = 0; sweep < sweeps; ++sweep) {
    const down = sweep % 2 === 0;
    const { begin, edges } = down ? before : after;
    const ends = down ? from : to;
    for (let i = 0; i < rows.length; ++i)
      settle(rows[down ? i : rows.length - 1 - i], x, widths, (node) => mean(node, begin, edges, ends, x, widths),
        sweep < sweeps - 2);
  }
  return fold(rows, x, y, widths, heights);
}

/** Layers as lists; one that is too wide becomes several. */
function rowsOf(layer: Int32Array, widest: number): Int32Array[] {
  let last = -1;
  for (const l of layer) if (l > last) last = l;
  const begin = new Int32Array(last + 2);
  for (const l of layer) ++begin[l + 1];
  for (let l = 0; l <= last; ++l) begin[l + 1] += begin[l];
  const next = begin.slice();
  const nodes = new Int32Array(layer.length);
  layer.forEach((l, node) => { nodes[next[l]++] = node; });
  const rows: Int32Array[] = [];
  for (let l = 0; l <= last; ++l)
    for (let at = begin[l]; at < begin[l + 1]; at += widest)
      rows.push(nodes.subarray(at, Math.min(at + widest, begin[l + 1])));
  return rows;
}

function packRow(row: Int32Array, x: Float32Array, widths: Float32Array) {
  let total = -gapX;
  for (const node of row) total += widths[node] + gapX;
  let at = -total / 2;
  for (const node of row) { x[node] = at; at += widths[node] + gapX; }
}

/** The middle of a node's neighbours; its own if it has none. */
function mean(node: number, begin: Int32Array, edges: Int32Array, ends: Int32Array, x: Float32Array,
  widths: Float32Array): number {
  const own = x[node] + widths[node] / 2;
  const count = begin[node + 1] - begin[node];
  if (count === 0) return own;
  let sum = 0;
  for (let i = begin[node]; i < begin[node + 1]; ++i) {
    const end = ends[edges[i]];
    sum += x[end] + widths[end] / 2;
  }
  return sum / count;
}

/** Moves the nodes of a row towards where they want to be, and keeps them apart. */
function settle(row: Int32Array, x: Float32Array, widths: Float32Array, wish: (node: number) => number,
  reorder: boolean) {
  const wishes = new Float64Array(row.length);
  row.forEach((node, i) => { wishes[i] = wish(node); });
  if (reorder && row.length > 1) {
    const order = Uint32Array.from({ length: row.length }, (_, i) => i);
    order.sort((a, b) => wishes[a] - wishes[b] || a - b);
    const nodes = row.slice();
    const sorted = wishes.slice();
    order.forEach((from, i) => { row[i] = nodes[from]; sorted[i] = wishes[from]; });
    wishes.set(sorted);
  }
  // Both passes keep the nodes apart, so their mean does too.
  const right = new Float64Array(row.length);
  let edge = -Infinity;
  for (let i = 0; i < row.length; ++i) {
    right[i] = Math.max(wishes[i] - widths[row[i]] / 2, edge);
    edge = right[i] + widths[row[i]] + gapX;
  }
  edge = Infinity;
  for (let i = row.length - 1; i >= 0; --i) {
    const left = Math.min(wishes[i] - widths[row[i]] / 2, edge - widths[row[i]] - gapX);
    x[row[i]] = (left + right[i]) / 2;
    edge = left;
  }
}

/** Sets the rows below each other, and begins a new column where a tower would be too tall. */
function fold(rows: Int32Array[], x: Float32Array, y: Float32Array, widths: Float32Array,
  heights: Float32Array): Places {
  const tall = rows.map((row) => row.reduce((most, node) => Math.max(most, heights[node]), 0) + gapY);
  const total = tall.reduce((sum, h) => sum + h, 0);
  const spread = extent(rows, x, widths);
  const columns = Math.max(1, Math.round(Math.sqrt((1.5 * total) / (spread + 200))));
  const limit = columns <= 2 ? Infinity : total / columns;
  let width = 0;
  let height = 0;
  for (let begin = 0; begin < rows.length;) {
    let end = begin;
    for (let h = 0; end < rows.length && (end === begin || h + tall[end] <= limit); ++end) h += tall[end];
    const left = least(rows, begin, end, x);
    const offset = width === 0 ? -left : width + 120 - left;
    let top = 0;
    for (let r = begin; r < end; ++r) {
      for (const node of rows[r]) {
        x[node] += offset;
        y[node] = top + (tall[r] - gapY - heights[node]) / 2;
        width = Math.max(width, x[node] + widths[node]);
      }
      top += tall[r];
    }
    height = Math.max(height, top - gapY);
    begin = end;
  }
  return { x, y, width, height };
}

function extent(rows: Int32Array[], x: Float32Array, widths: Float32Array): number {
  let sum = 0;
  let most = 0;
  for (const row of rows) {
    const last = row[row.length - 1];
    const wide = x[last] + widths[last] - x[row[0]];
    sum += wide;
    most = Math.max(most, wide);
  }
  return Math.max(most / 2, sum / Math.max(1, rows.length));
}

function least(rows: Int32Array[], begin: number, end: number, x: Float32Array): number {
  let left = Infinity;
  for (let r = begin; r < end; ++r) left = Math.min(left, x[rows[r][0]]);
  return left === Infinity ? 0 : left;
}
