// The canvases of a picture (shapes below, texts above), and their redrawing.
import type { Camera } from "../view/camera.js";
import { make } from "../elements/element.js";
import { Labels } from "./labels.js";
import type { Palette } from "./palette.js";
import type { Decorations } from "../parts.js";
import { createRenderer, type Overlay } from "./renderer.js";
import type { Shapes } from "./shapes.js";

export interface Drawing { shapes: Shapes | null; overlay: Overlay; decorations: Decorations; palette: Palette }

/** If frames take longer than this, in milliseconds, the last picture is moved as a whole during a
    gesture, and redrawn afterwards. */
const slowFrame = 28;
const pause = 130;

export class Screen {
  private readonly canvas = make("canvas", { class: "graph-shapes" });
  private readonly textCanvas = make("canvas", { class: "graph-texts" });
  private renderer = createRenderer(this.canvas);
  private readonly labels: Labels;
  private frame = 0;
  private timer = 0;
  private lastFrame = 0;
  /** The recent duration of a frame. */
  private cost = 0;
  private drawn = { x: 0, y: 0, scale: 1 };

  constructor(host: HTMLElement, private readonly camera: Camera, private readonly drawing: Drawing) {
    host.append(this.canvas, this.textCanvas);
    for (const canvas of this.canvases()) canvas.setAttribute("aria-hidden", "true");
    // Without this, it would be black before the first picture.
    this.canvas.style.visibility = "hidden";
    this.canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    this.canvas.addEventListener("webglcontextrestored", () => {
      this.renderer = createRenderer(this.canvas);
      if (drawing.shapes) this.renderer.setShapes(drawing.shapes);
      this.redraw();
    });
    this.labels = new Labels(this.textCanvas.getContext("2d") as CanvasRenderingContext2D, drawing.palette);
  }
  private canvases(): HTMLCanvasElement[] { return [this.canvas, this.textCanvas]; }

  resize(width: number, height: number) {
    const ratio = Math.min(2, devicePixelRatio || 1);
    for (const canvas of this.canvases()) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
  }
  setShapes(shapes: Shapes) {
    this.renderer.setShapes(shapes);
    this.cost = 0;
  }
  setColors(shapes: Shapes) { this.renderer.setColors(shapes); }

  redraw() {
    if (this.frame === 0) this.frame = requestAnimationFrame((now) => {
      this.frame = 0;
      // Frames that follow each other show what one costs, that of the GPU included.
      const since = now - this.lastFrame;
      if (since < 1500) this.cost = this.cost * 0.6 + since * 0.4;
      this.lastFrame = now;
      this.draw();
    });
  }
  /** Like redraw, while the picture is being moved. */
  move() {
    if (this.cost < slowFrame || !this.shift()) return this.redraw();
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => { this.lastFrame = -Infinity; this.redraw(); }, pause);
  }
  /** Moves the last picture to its current position; returns false if that is too far. */
  private shift(): boolean {
    const { x, y, scale, width, height } = this.camera;
    const grow = scale / this.drawn.scale;
    const left = (this.drawn.x - x) * scale;
    const top = (this.drawn.y - y) * scale;
    if (grow > 3 || grow < 0.33 || Math.abs(left) > 1.5 * width * Math.max(1, grow) || Math.abs(top) > 1.5 * height * Math.max(1, grow)) return false;
    for (const canvas of this.canvases()) canvas.style.transform = `translate(${left}px, ${top}px) scale(${grow})`;
    return true;
  }

  draw() {
    const { shapes, overlay, decorations, palette } = this.drawing;
    if (!shapes) return;
    clearTimeout(this.timer);
    const { x, y, scale } = this.camera;
    this.drawn = { x, y, scale };
    for (const canvas of this.canvases()) canvas.style.transform = "";
    this.canvas.style.visibility = "";
    this.labels.palette = palette;
    const ratio = this.canvas.width / this.camera.width;
    this.renderer.draw(shapes, this.camera, ratio, palette.background, overlay);
    this.labels.draw(shapes, this.camera, ratio, decorations);
  }

  destroy() {
    cancelAnimationFrame(this.frame);
    clearTimeout(this.timer);
    this.renderer.destroy();
  }
}
