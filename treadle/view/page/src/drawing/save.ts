// Saves the visible part as a picture: PNG, or SVG with real texts.
import { linesOf } from "../layout/captions.js";
import { paint } from "./canvas_renderer.js";
import type { GraphCanvas } from "../view/graph_view.js";
import { Labels } from "./labels.js";
import { unpacked } from "./palette.js";
import { rangesIn } from "./renderer.js";
import type { Shapes } from "./shapes.js";

export function download(blob: Blob, name: string) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function fileName(view: GraphCanvas, suffix: string): string {
  const title = view.scene.title.split("/").pop()?.replace(/[^\w.-]+/g, "_").slice(0, 60);
  return `${title || "graph"}.${suffix}`;
}

export async function savePng(view: GraphCanvas) {
  if (!view.shapes) return;
  const ratio = 2;
  const layers = [0, 1].map(() => {
    const canvas = document.createElement("canvas");
    canvas.width = view.camera.width * ratio;
    canvas.height = view.camera.height * ratio;
    return canvas.getContext("2d") as CanvasRenderingContext2D;
  });
  paint(layers[0], view.shapes, view.camera, ratio, view.palette.background, view.overlay);
  new Labels(layers[1], view.palette).draw(view.shapes, view.camera, ratio, view.decorations);
  layers[0].setTransform(1, 0, 0, 1, 0, 0);
  layers[0].drawImage(layers[1].canvas, 0, 0);
  const blob = await new Promise<Blob | null>((resolve) => layers[0].canvas.toBlob(resolve));
  if (blob) download(blob, fileName(view, "png"));
}

export function saveSvg(view: GraphCanvas) {
  if (view.shapes) download(new Blob([svgOf(view, view.shapes)], { type: "image/svg+xml" }), fileName(view, "svg"));
}

const escapes: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
function escaped(text: string): string { return text.replace(/[&<>"]/g, (c) => escapes[c]); }
function short(value: number): string { return String(Math.round(value * 10) / 10); }

function svgOf(view: GraphCanvas, shapes: Shapes): string {
  const { camera } = view;
  const palette = view.palette;
  const sight = camera.sight();
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${camera.width}" height="${camera.height}" ` +
      `viewBox="${short(sight.x)} ${short(sight.y)} ${short(sight.width)} ${short(sight.height)}" font-family="system-ui, sans-serif">`,
    `<rect x="${short(sight.x)}" y="${short(sight.y)}" width="${short(sight.width)}" height="${short(sight.height)}" fill="${palette.background}"/>`,
  ];
  for (let i = 0; i < shapes.openCount; ++i) svgBox(parts, shapes, i, palette);
  for (const [begin, end] of rangesIn(shapes.lineTiles, shapes.lineCount, 0, camera))
    for (let i = begin; i < end; ++i) svgLine(parts, shapes, i);
  for (const [begin, end] of rangesIn(shapes.boxTiles, shapes.boxCount, shapes.openCount, camera))
    for (let i = begin; i < end; ++i) svgBox(parts, shapes, i, palette);
  parts.push("</svg>");
  return parts.join("\n");
}

function svgBox(parts: string[], shapes: Shapes, i: number, palette: { text: string; muted: string }) {
  const [x, y, width, height] = shapes.boxes.subarray(4 * i, 4 * i + 4);
  const level = shapes.levels[shapes.boxLevel[i]];
  const place = shapes.boxPlace[i];
  parts.push(`<rect x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}" rx="${shapes.boxStyle[4 * i]}" ` +
    `fill="${unpacked(shapes.fills[i])}" stroke="${unpacked(shapes.strokes[i])}"/>`);
  if (level.besideOf[place] >= 0) return;
  const isOpen = i < shapes.openCount;
  const [first, second] = linesOf(level, place);
  const top = isOpen ? y + 19 : y + height / 2 - 2;
  parts.push(`<text x="${short(x + 11)}" y="${short(top)}" font-size="12" font-weight="600" fill="${palette.text}">${escaped(first)}</text>`);
  if (!isOpen) parts.push(`<text x="${short(x + 11)}" y="${short(top + 14)}" font-size="11" fill="${palette.muted}">${escaped(second)}</text>`);
}

function svgLine(parts: string[], { lines, lineStyle, lineColor }: Shapes, i: number) {
  const [x0, y0, x1, y1] = lines.subarray(4 * i, 4 * i + 4);
  const [w0, w1, , period] = lineStyle.subarray(4 * i, 4 * i + 4);
  const color = unpacked(lineColor[i]);
  if (w0 === w1) {
    const dash = period > 0 ? ` stroke-dasharray="${period * 0.55} ${period * 0.45}"` : "";
    parts.push(`<path d="M${short(x0)} ${short(y0)}L${short(x1)} ${short(y1)}" stroke="${color}" stroke-width="${short(w0)}"${dash} fill="none"/>`);
    return;
  }
  const length = Math.hypot(x1 - x0, y1 - y0) || 1;
  const [sx, sy] = [(-(y1 - y0) / length) * (w0 / 2), ((x1 - x0) / length) * (w0 / 2)];
  parts.push(`<path d="M${short(x0 + sx)} ${short(y0 + sy)}L${short(x1)} ${short(y1)}L${short(x0 - sx)} ${short(y0 - sy)}Z" fill="${color}"/>`);
}
