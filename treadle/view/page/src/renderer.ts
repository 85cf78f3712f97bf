// Draws shapes. By WebGL2 where there is one: a box and a piece of a line are one instance each.
import { Canvas2dRenderer } from "./canvas_renderer.js";
import type { Camera } from "./camera.js";
import type { Shapes, Tiles } from "./shapes.js";

/** Few boxes and lines, drawn over the others: what is selected, marked or pointed at. */
export interface Overlay {
  boxes: { x: number; y: number; width: number; height: number; radius: number; stroke: number; fill: number; line: number }[];
  lines: { x0: number; y0: number; x1: number; y1: number; w0: number; w1: number; color: number }[];
}

export interface Renderer {
  setShapes(shapes: Shapes): void;
  /** After the colours in the shapes changed. */
  setColors(shapes: Shapes): void;
  draw(shapes: Shapes, camera: Camera, ratio: number, background: string, overlay: Overlay): void;
  destroy(): void;
}

export function createRenderer(canvas: HTMLCanvasElement): Renderer {
  const gl = canvas.getContext("webgl2", { antialias: false, alpha: false, preserveDrawingBuffer: false });
  if (gl) {
    try {
      return new WebGlRenderer(gl);
    } catch {
      // A context that compiles nothing is as good as none.
    }
  }
  return new Canvas2dRenderer(canvas);
}

const boxVertex = `#version 300 es
layout(location=0) in vec4 box;
layout(location=1) in vec4 fill;
layout(location=2) in vec4 stroke;
layout(location=3) in vec4 style;
uniform vec2 origin; uniform float scale; uniform vec2 screen;
out vec2 local; flat out vec2 middle; flat out vec4 fillColor; flat out vec4 strokeColor; flat out vec2 shape;
void main() {
  vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1);
  vec2 size = max(box.zw * scale, vec2(1.0));
  middle = size * 0.5;
  float small = min(size.x, size.y);
  shape = vec2(min(style.x * scale, small * 0.5), max(1.0, style.y * 0.25 * min(scale, 1.5)));
  if (small < 12.0) shape.y = mix(0.0, shape.y, clamp((small - 4.0) / 8.0, 0.0, 1.0));
  local = (corner - 0.5) * (size + 2.0);
  fillColor = mix(fill, vec4(stroke.rgb, max(fill.a, stroke.a)), fill.a > 0.0 ? clamp((12.0 - small) / 12.0, 0.0, 0.75) : 0.0);
  strokeColor = stroke;
  vec2 at = (box.xy - origin) * scale + size * 0.5 + local;
  gl_Position = vec4(at / screen * 2.0 - 1.0, 0.0, 1.0);
  gl_Position.y = -gl_Position.y;
}`;

const boxFragment = `#version 300 es
precision highp float;
in vec2 local; flat in vec2 middle; flat in vec4 fillColor; flat in vec4 strokeColor; flat in vec2 shape;
out vec4 color;
void main() {
  vec2 q = abs(local) - middle + shape.x;
  float d = length(max(q, 0.0)) + min(max(q.x, q.y), 0.0) - shape.x;
  float inside = clamp(0.5 - d, 0.0, 1.0);
  float line = shape.y > 0.0 ? clamp(d + shape.y + 0.5, 0.0, 1.0) : 0.0;
  color = mix(fillColor, strokeColor, line);
  color.a *= inside;
  color.rgb *= color.a;
}`;

const lineVertex = `#version 300 es
layout(location=0) in vec4 line;
layout(location=1) in vec4 style;
layout(location=2) in vec4 tint;
uniform vec2 origin; uniform float scale; uniform vec2 screen; uniform float fade;
out vec2 across; flat out vec4 lineColor; out float along; flat out float period;
void main() {
  vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1);
  vec2 a = (line.xy - origin) * scale, b = (line.zw - origin) * scale;
  vec2 d = b - a;
  float len = max(length(d), 0.001);
  vec2 dir = d / len, side = vec2(-dir.y, dir.x);
  bool tapered = style.x != style.y;
  float zoom = tapered ? scale : clamp(scale, 0.0, 2.0);
  float w = mix(style.x, style.y, corner.x) * zoom;
  float least = tapered ? 0.0 : 0.8;
  float half_ = max(w, least) * 0.5;
  across = vec2((corner.y - 0.5) * 2.0 * (half_ + 1.0), half_);
  float reach = tapered ? 0.0 : (corner.x - 0.5) * 0.6;
  vec2 at = mix(a, b, corner.x) + dir * reach + side * across.x;
  along = style.z * scale + corner.x * len;
  period = style.w;
  lineColor = tint;
  lineColor.a *= tapered ? clamp(scale * 2.0 - 0.3, 0.0, 1.0) * fade : fade;
  gl_Position = vec4(at / screen * 2.0 - 1.0, 0.0, 1.0);
  gl_Position.y = -gl_Position.y;
}`;

const lineFragment = `#version 300 es
precision highp float;
in vec2 across; flat in vec4 lineColor; in float along; flat in float period;
out vec4 color;
void main() {
  float a = clamp(across.y + 0.5 - abs(across.x), 0.0, 1.0) * lineColor.a;
  if (period > 0.0 && fract(along / period) > 0.55) a *= 0.06;
  color = vec4(lineColor.rgb * a, a);
}`;

class WebGlRenderer implements Renderer {
  private readonly boxProgram: Program;
  private readonly lineProgram: Program;
  private readonly buffers: Record<string, WebGLBuffer> = {};

  constructor(private readonly gl: WebGL2RenderingContext) {
    this.boxProgram = new Program(gl, boxVertex, boxFragment);
    this.lineProgram = new Program(gl, lineVertex, lineFragment);
    for (const name of ["boxes", "fills", "strokes", "boxStyle", "lines", "lineStyle", "lineColor",
      "overBoxes", "overFills", "overStrokes", "overStyle", "overLines", "overLineStyle", "overLineColor"])
      this.buffers[name] = gl.createBuffer() as WebGLBuffer;
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  private upload(name: string, data: ArrayBufferView) {
    this.gl.bindBuffer(this.gl.ARRAY_BUFFER, this.buffers[name]);
    this.gl.bufferData(this.gl.ARRAY_BUFFER, data, this.gl.DYNAMIC_DRAW);
  }
  setShapes(shapes: Shapes) {
    this.upload("boxes", shapes.boxes);
    this.upload("boxStyle", shapes.boxStyle);
    this.upload("lines", shapes.lines);
    this.upload("lineStyle", shapes.lineStyle);
    this.setColors(shapes);
  }
  setColors(shapes: Shapes) {
    this.upload("fills", shapes.fills);
    this.upload("strokes", shapes.strokes);
    this.upload("lineColor", shapes.lineColor);
  }

  draw(shapes: Shapes, camera: Camera, ratio: number, background: string, overlay: Overlay) {
    const { gl } = this;
    const { width, height } = gl.canvas;
    gl.viewport(0, 0, width, height);
    const rgb = Number.parseInt(background.slice(1), 16);
    gl.clearColor((rgb >> 16) / 255, ((rgb >> 8) & 255) / 255, (rgb & 255) / 255, 1);
    gl.clear(gl.COLOR_BUFFER_BIT);
    this.boxProgram.use(camera, ratio, 1);
    this.drawBoxes("", 0, shapes.openCount);
    this.lineProgram.use(camera, ratio, fadeOf(shapes, camera));
    for (const [begin, end] of rangesIn(shapes.lineTiles, shapes.lineCount, 0, camera)) this.drawLines("", begin, end);
    this.boxProgram.use(camera, ratio, 1);
    for (const [begin, end] of rangesIn(shapes.boxTiles, shapes.boxCount, shapes.openCount, camera))
      this.drawBoxes("", begin, end);
    this.drawOverlay(overlay, camera, ratio);
  }

  private drawOverlay({ boxes, lines }: Overlay, camera: Camera, ratio: number) {
    this.upload("overLines", Float32Array.from(lines.flatMap((l) => [l.x0, l.y0, l.x1, l.y1])));
    this.upload("overLineStyle", Float32Array.from(lines.flatMap((l) => [l.w0, l.w1, 0, 0])));
    this.upload("overLineColor", Uint32Array.from(lines, (l) => l.color));
    this.lineProgram.use(camera, ratio, 1);
    this.drawLines("over", 0, lines.length);
    this.upload("overBoxes", Float32Array.from(boxes.flatMap((b) => [b.x, b.y, b.width, b.height])));
    this.upload("overFills", Uint32Array.from(boxes, (b) => b.fill));
    this.upload("overStrokes", Uint32Array.from(boxes, (b) => b.stroke));
    this.upload("overStyle", Uint8Array.from(boxes.flatMap((b) => [b.radius, b.line * 4, 0, 0])));
    this.boxProgram.use(camera, ratio, 1);
    this.drawBoxes("over", 0, boxes.length);
  }

  private drawBoxes(over: string, begin: number, end: number) {
    if (end <= begin) return;
    const { gl } = this;
    const name = (n: string) => this.buffers[over ? `over${n[0].toUpperCase()}${n.slice(1)}` : n];
    this.attribute(0, name("boxes"), 4, gl.FLOAT, false, 16, begin);
    this.attribute(1, name("fills"), 4, gl.UNSIGNED_BYTE, true, 4, begin);
    this.attribute(2, name("strokes"), 4, gl.UNSIGNED_BYTE, true, 4, begin);
    this.attribute(3, this.buffers[over ? "overStyle" : "boxStyle"], 4, gl.UNSIGNED_BYTE, false, 4, begin);
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, end - begin);
  }
  private drawLines(over: string, begin: number, end: number) {
    if (end <= begin) return;
    const { gl } = this;
    this.attribute(0, this.buffers[over ? "overLines" : "lines"], 4, gl.FLOAT, false, 16, begin);
    this.attribute(1, this.buffers[over ? "overLineStyle" : "lineStyle"], 4, gl.FLOAT, false, 16, begin);
    this.attribute(2, this.buffers[over ? "overLineColor" : "lineColor"], 4, gl.UNSIGNED_BYTE, true, 4, begin);
    gl.disableVertexAttribArray(3);
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, end - begin);
  }
  private attribute(at: number, buffer: WebGLBuffer, size: number, type: number, normalized: boolean,
    stride: number, begin: number) {
    const { gl } = this;
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.enableVertexAttribArray(at);
    gl.vertexAttribPointer(at, size, type, normalized, stride, begin * stride);
    gl.vertexAttribDivisor(at, 1);
  }

  destroy() {
    this.gl.getExtension("WEBGL_lose_context")?.loseContext();
  }
}

class Program {
  private readonly program: WebGLProgram;
  private readonly uniforms: Record<string, WebGLUniformLocation | null> = {};

  constructor(private readonly gl: WebGL2RenderingContext, vertex: string, fragment: string) {
    this.program = gl.createProgram() as WebGLProgram;
    for (const [type, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]] as const) {
      const shader = gl.createShader(type) as WebGLShader;
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(this.program, shader);
    }
    gl.linkProgram(this.program);
    if (!gl.getProgramParameter(this.program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(this.program) ?? "");
    for (const name of ["origin", "scale", "screen", "fade"]) this.uniforms[name] = gl.getUniformLocation(this.program, name);
  }
  use(camera: Camera, ratio: number, fade: number) {
    const { gl, uniforms } = this;
    gl.useProgram(this.program);
    gl.uniform2f(uniforms.origin, camera.x, camera.y);
    gl.uniform1f(uniforms.scale, camera.scale * ratio);
    gl.uniform2f(uniforms.screen, gl.canvas.width, gl.canvas.height);
    gl.uniform1f(uniforms.fade, fade);
  }
}

/** From afar, a hundred thousand lines would hide the boxes. */
export function fadeOf(shapes: Shapes, camera: Camera): number {
  const perPixel = shapes.lineCount / Math.max(1, shapes.width * camera.scale * shapes.height * camera.scale);
  return Math.min(1, Math.max(0.12, 0.02 / Math.max(perPixel, 1e-9)));
}

/** The ranges of instances that may be in sight. */
export function rangesIn(tiles: Tiles | null, count: number, first: number, camera: Camera): [number, number][] {
  if (!tiles) return [[first, count]];
  const sight = camera.sight();
  const clamp = (value: number, most: number) => Math.min(most, Math.max(0, Math.floor(value)));
  const left = clamp((sight.x - tiles.size) / tiles.size, tiles.columns - 1);
  const right = clamp((sight.x + sight.width + tiles.size) / tiles.size, tiles.columns - 1);
  const top = clamp((sight.y - tiles.size) / tiles.size, tiles.rows - 1);
  const bottom = clamp((sight.y + sight.height + tiles.size) / tiles.size, tiles.rows - 1);
  const ranges: [number, number][] = [[first + tiles.begin[tiles.columns * tiles.rows], count]];
  for (let row = top; row <= bottom; ++row)
    ranges.push([first + tiles.begin[row * tiles.columns + left], first + tiles.begin[row * tiles.columns + right + 1]]);
  return ranges;
}

