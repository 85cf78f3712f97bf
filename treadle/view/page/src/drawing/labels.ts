// Texts over the shapes, on a 2D canvas: only visible ones that are large enough to read.
import { headerOf, linesOf } from "../layout/captions.js";
import type { Camera } from "../view/camera.js";
import { beside, Stub, type Level } from "../layout/levels.js";
import { cornersOf } from "./lines.js";
import { unpacked, type Palette } from "./palette.js";
import type { Decorations } from "../parts.js";
import { rangesIn } from "./renderer.js";
import type { Shapes } from "./shapes.js";
import { shown } from "../texts/shown.js";
import { fonts, textWidth, type Font } from "../texts/text_width.js";

/** Minimum size of letters in pixels. */
const legible = 5.2;
/** If the first line is smaller, in pixels, only one line is shown. */
const comfortable = 6.4;
/** The height of the letters of that one line, in units of the picture, where they are largest. */
const farthest = 22;
const mostLabels = 1500;
const besideRoom = beside.width - 12;

interface EdgeText { left: number; width: number; y: number }

export class Labels {
  private readonly cut = new Map<string, string>();
  private count = 0;

  constructor(private readonly context: CanvasRenderingContext2D, public palette: Palette) {}

  draw(shapes: Shapes, camera: Camera, ratio: number, decorations: Decorations) {
    const { context } = this;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, context.canvas.width, context.canvas.height);
    const scale = camera.scale * ratio;
    context.setTransform(scale, 0, 0, scale, -camera.x * scale, -camera.y * scale);
    context.textBaseline = "alphabetic";
    this.count = 0;
    const sight = camera.sight();
    for (let i = 0; i < shapes.openCount; ++i) if (inSight(shapes, i, sight)) this.openHeader(shapes, i, camera);
    if (farthest * camera.scale >= legible)
      for (const [begin, end] of rangesIn(shapes.boxTiles, shapes.boxCount, shapes.openCount, camera))
        for (let i = begin; i < end && this.count < mostLabels; ++i)
          if (inSight(shapes, i, sight)) this.box(shapes, i, camera, decorations);
    // Values are shown instead of types.
    const hasTypes = 9.5 * camera.scale >= 8 && !decorations.nodeTexts;
    // Waiting tokens matter most in the stepper, so they are shown as soon as they can be read.
    if (hasTypes || (decorations.edgeTexts?.size && 9.5 * camera.scale >= legible)) this.edges(shapes, sight, decorations, hasTypes);
  }

  private box(shapes: Shapes, i: number, camera: Camera, { dead, nodeTexts }: Decorations) {
    const level = shapes.levels[shapes.boxLevel[i]];
    const place = shapes.boxPlace[i];
    const [x, y, width, height] = shapes.boxes.subarray(4 * i, 4 * i + 4);
    const node = level.nodeAt(place);
    const { palette } = this;
    if (level.besideOf[place] >= 0) {
      if (9.5 * camera.scale >= legible)
        this.text(besideText(level, node), x + 6, y + 11, besideRoom, "small", palette.muted);
      return;
    }
    const inset = level.opens(place) ? 26 : 11;
    if (12 * camera.scale < comfortable) return this.farBox(level, place, x, y, width, height, camera, nodeTexts?.get(node));
    if (level.opens(place)) this.chevron(x + 12, y + height / 2, false);
    const [first, second] = linesOf(level, place);
    const faint = node >= 0 && dead?.has(node);
    this.text(first, x + inset, y + height / 2 - 2, width - inset - 8, "strong", faint ? palette.muted : palette.text);
    this.text(second, x + inset, y + height / 2 + 12, width - inset - 8, "plain", palette.muted);
    const value = node >= 0 ? nodeTexts?.get(node) : undefined;
    if (value !== undefined) this.badge(shown(value, 60), x + 8, y + height + 2);
  }

  /** Zoomed out, shows one line in letters as large as the box allows. */
  private farBox(level: Level, place: number, x: number, y: number, width: number, height: number, camera: Camera,
    value: string | undefined) {
    const grow = Math.min(farthest, (comfortable + 1.5) / camera.scale) / 12;
    const { context } = this;
    context.save();
    context.translate(x, y + height / 2);
    context.scale(grow, grow);
    this.text(linesOf(level, place)[0], 5, 4, width / grow - 8, "strong", this.palette.text);
    if (value !== undefined) {
      // Larger, it would hide the box below.
      context.scale(Math.min(1, 1.4 / grow), Math.min(1, 1.4 / grow));
      this.badge(shown(value, 60), 5, height / 2 / Math.min(grow, 1.4) + 1);
    }
    context.restore();
  }

  private openHeader(shapes: Shapes, i: number, camera: Camera) {
    if (12 * camera.scale < legible) return this.farHeader(shapes, i, camera);
    const level = shapes.levels[shapes.boxLevel[i]];
    const place = shapes.boxPlace[i];
    const [x, y, width] = shapes.boxes.subarray(4 * i, 4 * i + 4);
    const halo = unpacked(shapes.fills[i]);
    this.chevron(x + 13, y + 15, true);
    const [title, note] = headerOf(level, place);
    const used = this.text(title, x + 24, y + 19, width - 36, "strong", this.palette.text, halo);
    if (used + 60 < width - 36) this.text(note, x + 24 + used + 8, y + 19, width - 44 - used, "plain", this.palette.muted, halo);
  }

  /** Zoomed out, a group's name keeps a readable size if the group has room for it. */
  private farHeader(shapes: Shapes, i: number, camera: Camera) {
    const [x, y, width, height] = shapes.boxes.subarray(4 * i, 4 * i + 4);
    if (width * camera.scale < 90 || height * camera.scale < 30) return;
    const [title] = headerOf(shapes.levels[shapes.boxLevel[i]], shapes.boxPlace[i]);
    const { context } = this;
    context.save();
    context.translate(x, y);
    // Larger letters would cover what is in the group.
    const grow = Math.min(2.2, 0.9 / camera.scale);
    if (grow * camera.scale * 12 < legible) return context.restore();
    context.scale(grow, grow);
    this.text(title, 6, 13, width / grow - 12, "strong", this.palette.muted, unpacked(shapes.fills[i]));
    context.restore();
  }

  private chevron(x: number, y: number, open: boolean) {
    const { context } = this;
    context.beginPath();
    if (open) { context.moveTo(x - 4, y - 2); context.lineTo(x, y + 2.5); context.lineTo(x + 4, y - 2); }
    else { context.moveTo(x - 2, y - 4); context.lineTo(x + 2.5, y); context.lineTo(x - 2, y + 4); }
    context.strokeStyle = this.palette.muted;
    context.lineWidth = 1.5;
    context.stroke();
  }

  /** A value at a node is outlined; a token that waits at the end of an edge is filled, grey if dead. */
  private badge(text: string, x: number, y: number, look: "value" | "token" = "value", isLeft = false) {
    const { context, palette } = this;
    const fitted = this.fit(text, 160, "small");
    const width = textWidth(fitted, "small") + 10;
    if (isLeft) x -= width;
    context.beginPath();
    context.roundRect(x, y, width, 14, 4);
    const isDead = text.startsWith("dead");
    context.fillStyle = look === "value" ? palette.background : isDead ? palette.muted : palette.ready;
    context.fill();
    if (look === "value") {
      context.lineWidth = 1;
      context.strokeStyle = isDead ? palette.muted : palette.accent;
      context.stroke();
    }
    const ink = look === "value" ? (isDead ? palette.muted : palette.accent) : isDead ? palette.background : "#16181b";
    this.text(fitted, x + 5, y + 10.5, 170, "small", ink);
  }

  /** At the end of the edge, on the side that is away from where it comes from. */
  private token(text: string, corners: ArrayLike<number>) {
    const endX = corners[corners.length - 2], endY = corners[corners.length - 1];
    const isLeft = corners[0] > endX + 4;
    this.badge(text, endX + (isLeft ? -5 : 5), endY - 20, "token", isLeft);
  }

  /** Shows the number of edges in a bundle, its flow, and waiting tokens. */
  private edges(shapes: Shapes, sight: { x: number; y: number; width: number; height: number }, { edgeTexts }: Decorations,
    hasTypes: boolean) {
    for (const level of shapes.levels) {
      if (level.bundles.from.length > 3000) continue;
      const seen = new Set<string>();
      const drawn: EdgeText[] = [];
      const starts = startsOf(level);
      const waitingAt = waitingByEnds(level, edgeTexts);
      for (let bundle = 0; bundle < level.bundles.from.length && this.count < mostLabels; ++bundle) {
        const corners = cornersOf(level, bundle);
        if (corners.length < 4 || level.isBeside(bundle) || level.stubs[bundle] === Stub.atSource) continue;
        const [x, y] = corners;
        if (x < sight.x - 100 || x > sight.x + sight.width || y < sight.y - 40 || y > sight.y + sight.height) continue;
        const waiting = waitingAt.get(endsOf(level, level.bundles.edges[bundle]));
        if (waiting !== undefined) this.token(shown(waiting, 40), corners);
        const key = `${Math.round(x)} ${Math.round(y)}`;
        if (!hasTypes) continue;
        if (seen.has(key) || level.bundles.from[bundle] >= level.count || corners[3] - y < 8 && corners.length === 4) continue;
        seen.add(key);
        const count = level.bundles.counts[bundle];
        const text = count > 1 ? `${count}×` : shown(level.scene.edgeType(level.bundles.edges[bundle]), 60);
        if (text) this.edgeText(text, x, y, corners.length > 4 && corners[4] > x, drawn, starts.get(Math.round(y)) ?? []);
      }
    }
  }

  /** Placed on the side that the edge doesn't turn to, unless another text or edge is there. */
  private edgeText(text: string, x: number, y: number, turnsRight: boolean, drawn: EdgeText[], starts: number[]) {
    const width = Math.min(110, textWidth(text, "small"));
    for (const isLeft of turnsRight ? [true, false] : [false, true]) {
      const at: EdgeText = { left: isLeft ? x - 4 - width : x + 4, width, y };
      if (starts.some((other) => other > at.left && other < at.left + width)) continue;
      if (drawn.some((other) => Math.abs(other.y - y) < 11 && other.left < at.left + width + 3 && at.left < other.left + other.width + 3)) continue;
      drawn.push(at);
      this.text(text, at.left, y + 10.5, width + 1, "small", this.palette.muted);
      return;
    }
  }

  /** Draws a text and returns its width. */
  private text(text: string, x: number, y: number, room: number, font: Font, color: string, halo = ""): number {
    if (room < 12 || text === "") return 0;
    const fitted = this.fit(text, room, font);
    ++this.count;
    this.context.font = fonts[font];
    if (halo) {
      // Lines may run behind a header.
      this.context.strokeStyle = halo;
      this.context.lineWidth = 4;
      this.context.lineJoin = "round";
      this.context.strokeText(fitted, x, y);
    }
    this.context.fillStyle = color;
    this.context.fillText(fitted, x, y);
    return textWidth(fitted, font);
  }

  private fit(text: string, room: number, font: Font): string {
    if (textWidth(text, font) <= room) return text;
    const key = `${font}${Math.floor(room)} ${text}`;
    let fitted = this.cut.get(key);
    if (fitted !== undefined) return fitted;
    let low = 0;
    let high = text.length;
    this.context.font = fonts[font];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.context.measureText(`${text.slice(0, middle)}…`).width <= room) low = middle;
      else high = middle - 1;
    }
    fitted = low === 0 ? "" : `${text.slice(0, low)}…`;
    if (this.cut.size > 50_000) this.cut.clear();
    this.cut.set(key, fitted);
    return fitted;
  }
}

/** One line represents all edges between two nodes, wherever the text is. */
function waitingByEnds(level: Level, edgeTexts: Decorations["edgeTexts"]): Map<string, string> {
  const out = new Map<string, string>();
  for (const [edge, text] of edgeTexts ?? []) {
    const ends = endsOf(level, edge);
    const before = out.get(ends);
    out.set(ends, before === undefined ? text : `${before}, ${text}`);
  }
  return out;
}
function endsOf(level: Level, edge: number): string {
  return `${level.scene.edgeFrom[edge]} ${level.scene.edgeTo[edge]}`;
}

/** The starts of edges, by height. */
function startsOf(level: Level): Map<number, number[]> {
  const starts = new Map<number, number[]>();
  for (let bundle = 0; bundle < level.bundles.from.length; ++bundle) {
    const [x, y] = cornersOf(level, bundle);
    if (x === undefined || level.isBeside(bundle)) continue;
    const key = Math.round(y);
    const row = starts.get(key);
    if (!row) starts.set(key, [x]);
    else if (!row.includes(x)) row.push(x);
  }
  return starts;
}

function inSight(shapes: Shapes, i: number, sight: { x: number; y: number; width: number; height: number }): boolean {
  const [x, y, width, height] = [shapes.boxes[4 * i], shapes.boxes[4 * i + 1], shapes.boxes[4 * i + 2], shapes.boxes[4 * i + 3]];
  return x < sight.x + sight.width && x + width > sight.x && y < sight.y + sight.height && y + height > sight.y;
}

/** The value of a constant, with its type if there is room for both; the name of an argument. */
function besideText(level: Level, node: number): string {
  const { scene } = level;
  if (scene.op(node) !== "Const") return shown(level.tree.nodeLabel(node), 40);
  const value = /(?:^|\n)value = ([^\n]{1,40})/.exec(scene.textLength(scene.nodeAttrs[node]) < 4000 ? scene.text(scene.nodeAttrs[node]) : "");
  const whole = shown(value?.[1] ?? scene.outputType(node, 0) ?? "Const", 40) || "Const";
  if (textWidth(whole, "small") <= besideRoom) return whole;
  const alone = whole.slice(whole.indexOf(" = ") + 3);
  return whole.includes(" = ") && textWidth(alone, "small") <= besideRoom ? alone : whole;
}
