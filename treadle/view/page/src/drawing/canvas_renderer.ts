// The fallback without WebGL2: draws the visible shapes with Canvas 2D.
import type { Camera } from "../view/camera.js";
import { unpacked } from "./palette.js";
import { fadeOf, lineRanges, rangesIn, type Overlay, type Renderer } from "./renderer.js";
import type { Shapes } from "./shapes.js";

/** Maximum number of shapes in one frame. */
const mostLines = 30_000;

export class Canvas2dRenderer implements Renderer {
  private readonly context: CanvasRenderingContext2D | null;
  constructor(canvas: HTMLCanvasElement) { this.context = canvas.getContext("2d"); }
  setShapes() { /* Shapes are read when they are drawn. */ }
  setColors() { /* So are colours. */ }
  destroy() { /* It holds nothing. */ }

  draw(shapes: Shapes, camera: Camera, ratio: number, background: string, overlay: Overlay) {
    if (this.context) paint(this.context, shapes, camera, ratio, background, overlay);
  }
}

export function paint(context: CanvasRenderingContext2D, shapes: Shapes, camera: Camera, ratio: number,
  background: string, overlay: Overlay) {
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.fillStyle = background;
  context.fillRect(0, 0, context.canvas.width, context.canvas.height);
  const scale = camera.scale * ratio;
  context.setTransform(scale, 0, 0, scale, -camera.x * scale, -camera.y * scale);
  const { boxes, fills, strokes, boxStyle, lines, lineStyle, lineColor } = shapes;
  const box = (i: number) => drawBox(context, boxes[4 * i], boxes[4 * i + 1], boxes[4 * i + 2], boxes[4 * i + 3],
    boxStyle[4 * i], unpacked(fills[i]), unpacked(strokes[i]), Math.max(boxStyle[4 * i + 1] / 4, 0.8 / camera.scale));
  for (let i = 0; i < shapes.openCount; ++i) box(i);
  context.globalAlpha = fadeOf(shapes, camera);
  let drawn = 0;
  for (const [begin, end] of lineRanges(shapes, camera))
    for (let i = begin; i < end && drawn < mostLines; ++i, ++drawn)
      drawLine(context, lines[4 * i], lines[4 * i + 1], lines[4 * i + 2], lines[4 * i + 3], lineStyle[4 * i],
        lineStyle[4 * i + 1], unpacked(lineColor[i]), lineStyle[4 * i + 3]);
  context.globalAlpha = 1;
  for (const [begin, end] of rangesIn(shapes.boxTiles, shapes.boxCount, shapes.openCount, camera))
    for (let i = begin; i < end; ++i) box(i);
  for (const l of overlay.lines) drawLine(context, l.x0, l.y0, l.x1, l.y1, l.w0, l.w1, unpacked(l.color), 0);
  for (const b of overlay.boxes)
    drawBox(context, b.x, b.y, b.width, b.height, b.radius, unpacked(b.fill), unpacked(b.stroke), b.line);
}

function drawBox(context: CanvasRenderingContext2D, x: number, y: number, width: number, height: number,
  radius: number, fill: string, stroke: string, line: number) {
  context.beginPath();
  context.roundRect(x, y, width, height, radius);
  context.fillStyle = fill;
  context.fill();
  context.strokeStyle = stroke;
  context.lineWidth = line;
  context.stroke();
}

function drawLine(context: CanvasRenderingContext2D, x0: number, y0: number, x1: number, y1: number, w0: number,
  w1: number, color: string, period: number) {
  context.beginPath();
  if (w0 === w1) {
    context.setLineDash(period > 0 ? [period * 0.55, period * 0.45] : []);
    context.moveTo(x0, y0);
    context.lineTo(x1, y1);
    context.strokeStyle = color;
    context.lineWidth = w0;
    context.stroke();
    context.setLineDash([]);
    return;
  }
  const length = Math.hypot(x1 - x0, y1 - y0) || 1;
  const [sx, sy] = [(-(y1 - y0) / length) * (w0 / 2), ((x1 - x0) / length) * (w0 / 2)];
  context.moveTo(x0 + sx, y0 + sy);
  context.lineTo(x1, y1);
  context.lineTo(x0 - sx, y0 - sy);
  context.fillStyle = color;
  context.fill();
}
