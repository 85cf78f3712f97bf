// Draws the visible part of a trace. Slices narrower than a pixel are merged, with an opacity by
// their coverage, so that the cost depends on the number of pixels rather than slices.
import { lowerBound } from "./columns.js";
import { gaps, type Spans } from "./computing.js";
import { rowHeight, type Places } from "./places.js";
import { duration, short } from "../texts/texts.js";
import { exchangeTracks, type Trace } from "./trace.js";
import { ticks, type Viewport } from "./viewport.js";

export interface Colours {
  readonly back: string;
  readonly text: string;
  readonly faint: string;
  readonly line: string;
  readonly accent: string;
  readonly path: string;
  readonly isHighContrast: boolean;
  readonly font: string;
}

export const axisHeight = 26;
/** Narrower slices are merged. */
const leastWidth = 1;

/** Overlays of the slices, and their emphasis. */
export interface Emphasis {
  selected: number;
  hovered: number;
  /** The critical path in the order of time, where it is to be seen. */
  path: readonly number[] | null;
  /** Text of a name or op: others are dimmed. 0: none. */
  only: { name: number; op: number } | null;
}

export class Painter {
  /** By slice, the sum of durations before it. */
  private readonly before: Float64Array;
  private readonly colourOfOp = new Map<number, string>();
  private readonly isOnPath: Uint8Array;
  private pathOfFlags: readonly number[] | null = null;

  constructor(
    private readonly trace: Trace,
    private readonly places: Places,
    private readonly computing: Spans,
    /** Numbers of texts, that of the most time first: they get the colours that differ most. */
    opsByTime: readonly number[],
  ) {
    this.before = new Float64Array(trace.length + 1);
    for (let i = 0; i < trace.length; ++i)
      this.before[i + 1] = this.before[i] + trace.end[i] - trace.begin[i];
    opsByTime.forEach((op, rank) => this.colourOfOp.set(op, colourOf(rank)));
    this.isOnPath = new Uint8Array(trace.length);
  }

  paint(
    c: CanvasRenderingContext2D, view: Viewport, left: number, height: number, scroll: number,
    colours: Colours, emphasis: Emphasis,
  ): void {
    this.flagPath(emphasis.path);
    c.fillStyle = colours.back;
    c.fillRect(0, 0, left + view.width, height);
    c.font = `12px ${colours.font}`;
    c.textBaseline = "middle";
    c.save();
    c.beginPath();
    c.rect(left, 0, view.width, height);
    c.clip();
    c.translate(left, 0);
    this.paintAxis(c, view, height, colours);
    c.beginPath();
    c.rect(0, axisHeight, view.width, height - axisHeight);
    c.clip();
    c.translate(0, axisHeight - scroll);
    this.trace.rows.forEach((_, row) => {
      const y = this.places.yOfRow(row);
      if (y + rowHeight >= scroll && y <= scroll + height) this.paintRow(c, view, row, y, colours, emphasis);
    });
    if (emphasis.path) this.paintPath(c, view, emphasis.path, colours);
    this.paintOutline(c, view, emphasis.hovered, 1.5, colours.text);
    this.paintOutline(c, view, emphasis.selected, 2.5, colours.accent);
    c.restore();
    this.paintNames(c, left, view.width, height, scroll, colours);
  }

  private flagPath(path: readonly number[] | null): void {
    if (path === this.pathOfFlags) return;
    this.pathOfFlags = path;
    this.isOnPath.fill(0);
    for (const slice of path ?? []) this.isOnPath[slice] = 1;
  }

  private paintAxis(c: CanvasRenderingContext2D, view: Viewport, height: number, colours: Colours): void {
    const { from } = this.trace;
    c.textAlign = "left";
    c.lineWidth = 1;
    for (const tick of ticks(view.begin - from, view.end - from, view.width / 90)) {
      const x = Math.round(view.x(tick + from)) + 0.5;
      c.strokeStyle = colours.line;
      c.beginPath();
      c.moveTo(x, 0);
      c.lineTo(x, height);
      c.stroke();
      c.fillStyle = colours.faint;
      c.fillText(duration(tick), x + 4, axisHeight / 2);
    }
  }

  private paintRow(
    c: CanvasRenderingContext2D, view: Viewport, row: number, y: number, colours: Colours,
    emphasis: Emphasis,
  ): void {
    const { begin, end, rows } = this.trace, last = rows[row].end;
    const isExchange = this.isExchange(row);
    let i = lowerBound(end, rows[row].first, last, view.begin);
    while (i < last && begin[i] < view.end) {
      const x = view.x(begin[i]), width = (end[i] - begin[i]) / view.scale;
      if (width >= leastWidth) {
        this.paintSlice(c, view, i, x, y, width, colours, emphasis);
        if (isExchange) this.hatch(c, view, i, y, colours);
        ++i;
      } else {
        const pixel = Math.floor(x);
        const next = lowerBound(begin, i + 1, last, view.time(pixel + 1));
        const covered = (this.before[next] - this.before[i]) / view.scale;
        c.globalAlpha = this.strength(i, emphasis) * Math.min(1, 0.3 + 0.7 * covered);
        c.fillStyle = this.colour(i, colours);
        c.fillRect(pixel, y, 1, rowHeight);
        i = next;
      }
    }
    c.globalAlpha = 1;
  }

  private paintSlice(
    c: CanvasRenderingContext2D, view: Viewport, slice: number, x: number, y: number, width: number,
    colours: Colours, emphasis: Emphasis,
  ): void {
    const left = Math.max(x, -4), right = Math.min(x + width, view.width + 4);
    const inner = right - left > 3 ? right - left - 0.75 : right - left; // a seam between neighbours
    c.globalAlpha = this.strength(slice, emphasis);
    c.fillStyle = this.colour(slice, colours);
    c.fillRect(left, y, inner, rowHeight);
    const waited = this.trace.waited[slice];
    if (waited > 0) this.hatchSpan(c, left, Math.min(inner, (waited / view.scale)), y, colours);
    if (inner > 26) this.writeName(c, slice, left, y, inner, colours);
  }

  private writeName(
    c: CanvasRenderingContext2D, slice: number, left: number, y: number, width: number, colours: Colours,
  ): void {
    const text = fitted(c, this.trace.texts[this.trace.name[slice]], width - 8);
    if (!text) return;
    // On what is dimmed, most is seen of the page behind it.
    c.fillStyle = colours.isHighContrast || c.globalAlpha < 1 ? colours.text : "#14181f";
    c.globalAlpha = Math.min(1, c.globalAlpha * 2);
    c.textAlign = "left";
    c.fillText(text, left + 4, y + rowHeight / 2 + 0.5);
  }

  /** Parts of an exchange without concurrent computation. */
  private hatch(c: CanvasRenderingContext2D, view: Viewport, slice: number, y: number, colours: Colours): void {
    const from = Math.max(this.trace.begin[slice], view.begin), to = Math.min(this.trace.end[slice], view.end);
    for (const [begin, end] of gaps(this.computing, from, to))
      this.hatchSpan(c, view.x(begin), (end - begin) / view.scale, y, colours);
  }

  private hatchSpan(c: CanvasRenderingContext2D, x: number, width: number, y: number, colours: Colours): void {
    if (width < 1.5) return;
    c.save();
    c.beginPath();
    c.rect(x, y, width, rowHeight);
    c.clip();
    c.strokeStyle = colours.isHighContrast ? colours.text : "rgb(20 24 31 / 0.6)";
    c.lineWidth = 1.5;
    c.beginPath();
    const first = Math.floor(x / 6) * 6;
    for (let at = first - rowHeight; at < x + width; at += 6) {
      c.moveTo(at, y + rowHeight);
      c.lineTo(at + rowHeight, y);
    }
    c.stroke();
    c.restore();
  }

  private strength(slice: number, emphasis: Emphasis): number {
    const { only, path } = emphasis;
    if (only)
      return (only.name && this.trace.name[slice] === only.name) ||
        (only.op && this.trace.op[slice] === only.op) ? 1 : 0.22;
    return path && this.isOnPath[slice] === 0 ? 0.4 : 1;
  }

  /** Colors by op, so that equal ops look alike; sequential iterations are grey. */
  private colour(slice: number, colours: Colours): string {
    if (colours.isHighContrast) return colours.line;
    if (this.isExchange(this.trace.row[slice])) return exchangeColour;
    return this.colourOfOp.get(this.trace.op[slice]) ?? otherColour;
  }

  private isExchange(row: number): boolean {
    return this.trace.tracks[this.trace.rows[row].track].group === exchangeTracks;
  }

  private paintPath(c: CanvasRenderingContext2D, view: Viewport, path: readonly number[], colours: Colours): void {
    const { begin, end } = this.trace, y = (slice: number) => this.places.yOfRow(this.trace.row[slice]);
    c.strokeStyle = c.fillStyle = colours.path;
    c.lineWidth = 2;
    let lastX = -Infinity;
    // Ends ascend along the path, as each waited for the one before.
    let first = 0;
    for (let to = path.length; first < to; ) {
      const middle = (first + to) >>> 1;
      if (end[path[middle]] < view.begin) first = middle + 1;
      else to = middle;
    }
    for (let i = Math.max(0, first - 1); i < path.length; ++i) {
      const slice = path[i], x = view.x(begin[slice]), right = view.x(end[slice]);
      if (right - lastX > 1.5) {
        // Outlines of narrow ones would be all that is to be seen of them.
        if (right - x > 5) c.strokeRect(x, y(slice) + 1, right - x, rowHeight - 2);
        else c.fillRect(x, y(slice) + rowHeight - 3, Math.max(1.5, right - x), 3);
        lastX = right;
        if (i > 0) this.link(c, view, path[i - 1], slice);
      }
      if (begin[slice] > view.end) break;
    }
  }

  private link(c: CanvasRenderingContext2D, view: Viewport, from: number, to: number): void {
    const x0 = view.x(this.trace.end[from]), x1 = view.x(this.trace.begin[to]);
    const y0 = this.places.yOfRow(this.trace.row[from]) + rowHeight / 2;
    const y1 = this.places.yOfRow(this.trace.row[to]) + rowHeight / 2;
    const bend = Math.max(8, (x1 - x0) / 2);
    c.beginPath();
    c.moveTo(x0, y0);
    c.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
    c.stroke();
  }

  private paintOutline(c: CanvasRenderingContext2D, view: Viewport, slice: number, width: number, colour: string): void {
    if (slice < 0) return;
    const x = view.x(this.trace.begin[slice]), right = view.x(this.trace.end[slice]);
    c.strokeStyle = colour;
    c.lineWidth = width;
    c.strokeRect(x, this.places.yOfRow(this.trace.row[slice]), Math.max(2, right - x), rowHeight);
  }

  private paintNames(
    c: CanvasRenderingContext2D, left: number, width: number, height: number, scroll: number, colours: Colours,
  ): void {
    c.strokeStyle = colours.line;
    c.lineWidth = 1;
    c.beginPath();
    c.moveTo(0, axisHeight - 0.5);
    c.lineTo(left + width, axisHeight - 0.5);
    c.moveTo(left - 0.5, 0);
    c.lineTo(left - 0.5, height);
    c.stroke();
    c.save();
    c.beginPath();
    c.rect(0, axisHeight, left + width, height - axisHeight);
    c.clip();
    c.translate(0, axisHeight - scroll);
    c.textAlign = "left";
    for (const { text, y, height: h } of this.places.headings) {
      c.font = `600 12px ${colours.font}`;
      c.fillStyle = colours.back;
      c.fillRect(0, y, left + width, h - 1);
      c.fillStyle = colours.text;
      c.fillText(fitted(c, text, left + width - 12), 8, y + h / 2);
    }
    c.font = `12px ${colours.font}`;
    for (const { track, y } of this.places.tracks) {
      c.fillStyle = colours.faint;
      c.fillText(fitted(c, this.trace.tracks[track].name, left - 16), 8, y + rowHeight / 2);
    }
    c.restore();
  }
}

/** Returns as much of a text as fits, or ''. A path that doesn't fit is shortened to its last component. */
function fitted(c: CanvasRenderingContext2D, text: string, width: number): string {
  text = short(text, 400);
  if (c.measureText(text).width <= width) return text;
  text = text.slice(text.lastIndexOf("/") + 1);
  if (c.measureText(text).width <= width) return text;
  let first = 0, end = text.length;
  while (first < end) {
    const middle = (first + end + 1) >>> 1;
    if (c.measureText(text.slice(0, middle) + "…").width <= width) first = middle;
    else end = middle - 1;
  }
  return first < 3 ? "" : text.slice(0, first) + "…";
}

/** The colour of iterations, and of ops without a colour of their own. */
const otherColour = "hsl(220 12% 74%)";
const exchangeColour = "hsl(185 42% 66%)";
/** Far from each other, and light enough for dark text, on a light page and on a dark one. */
const hues = [212, 30, 145, 268, 48, 330, 180, 6, 92, 235, 300, 165];

function colourOf(rank: number): string {
  const round = Math.floor(rank / hues.length);
  return round > 2 ? otherColour : `hsl(${hues[rank % hues.length] + round * 9} ${70 - round * 18}% ${70 + round * 4}%)`;
}
