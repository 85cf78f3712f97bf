// Draws shapes with WebGL2 if it is available.
import { Canvas2dRenderer } from "./canvas_renderer.js";
import type { Camera } from "../view/camera.js";
import type { Shapes, Tiles } from "./shapes.js";

/** A few boxes and lines over the others: selected, marked or hovered ones. */
export interface Overlay {
  boxes: { x: number; y: number; width: number; height: number; radius: number; stroke: number; fill: number; line: number }[];
  lines: { x0: number; y0: number; x1: number; y1: number; w0: number; w1: number; color: number }[];
}

export interface Renderer {
  setShapes(shapes: Shapes): void;
  /** Call this after the colors of shapes changed. */
  setColors(shapes: Shapes): void;
  draw(shapes: Shapes, camera: Camera, ratio: number, background: string, overlay: Overlay): void;
  destroy(): void;
}

/** Maximum number of lines in one frame; more would only be a haze. */
const mostLines = 60_000;

export function createRenderer(canvas: HTMLCanvasElement): Renderer {
  const gl = canvas.getContext("webgl2", { antialias: false, alpha: false, preserveDrawingBuffer: false });
  if (gl) {
    try {
      return new WebGlRenderer(gl);
    } catch {
      // Without a working shader compiler, the context can't be used.
    }
  }
  return new Canvas2dRenderer(canvas);
}

// Vertices are made from textures, six for a box or a line: instances of so few vertices are slow,
// most of all where there is no GPU.
const pull = `#version 300 es
precision highp float;
precision highp sampler2D;
uniform vec2 origin; uniform float scale; uniform vec2 screen; uniform float fade;
ivec2 placeOf(int i, sampler2D data) { int width = textureSize(data, 0).x; return ivec2(i % width, i / width); }
vec2 cornerOf(int vertex) { int k = vertex % 6; int c = k < 3 ? k : 6 - k; return k < 3 ? vec2(c & 1, c >> 1) : vec2(c == 1 ? 0.0 : 1.0, c == 3 ? 0.0 : 1.0); }
`;

const boxVertex = `${pull}
uniform sampler2D boxes; uniform sampler2D fills; uniform sampler2D strokes; uniform sampler2D styles;
out vec2 local; flat out vec2 middle; flat out vec4 fillColor; flat out vec4 strokeColor; flat out vec2 shape;
void main() {
  ivec2 at = placeOf(gl_VertexID / 6, boxes);
  vec4 box = texelFetch(boxes, at, 0), fill = texelFetch(fills, at, 0), stroke = texelFetch(strokes, at, 0);
  vec4 style = texelFetch(styles, at, 0) * 255.0;
  vec2 size = max(box.zw * scale, vec2(1.0));
  middle = size * 0.5;
  float small = min(size.x, size.y);
  shape = vec2(min(style.x * scale, small * 0.5), max(1.0, style.y * 0.25 * min(scale, 1.5)));
  if (small < 12.0) shape.y = mix(0.0, shape.y, clamp((small - 4.0) / 8.0, 0.0, 1.0));
  local = (cornerOf(gl_VertexID) - 0.5) * (size + 2.0);
  fillColor = mix(fill, vec4(stroke.rgb, max(fill.a, stroke.a)), fill.a > 0.0 ? clamp((12.0 - small) / 12.0, 0.0, 0.75) : 0.0);
  strokeColor = stroke;
  vec2 place = (box.xy - origin) * scale + size * 0.5 + local;
  gl_Position = vec4(place / screen * 2.0 - 1.0, 0.0, 1.0);
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

const lineVertex = `${pull}
uniform sampler2D boxes; uniform sampler2D fills; uniform sampler2D styles;
out vec2 across; flat out vec4 lineColor; out float along; flat out float period;
void main() {
  ivec2 place = placeOf(gl_VertexID / 6, boxes);
  vec4 line = texelFetch(boxes, place, 0), tint = texelFetch(fills, place, 0), style = texelFetch(styles, place, 0);
  vec2 corner = cornerOf(gl_VertexID);
  vec2 a = (line.xy - origin) * scale, b = (line.zw - origin) * scale;
  vec2 d = b - a;
  float len = max(length(d), 0.001);
  vec2 dir = d / len, side = vec2(-dir.y, dir.x);
  bool tapered = style.x != style.y;
  float zoom = tapered ? scale : clamp(scale, 0.0, 2.0);
  float w = mix(style.x, style.y, corner.x) * zoom;
  float half_ = max(w, tapered ? 0.0 : 0.8) * 0.5;
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

/** Returns the arrays of boxes or lines as textures, which shaders read by index. */
class Tables {
  private readonly textures = new Map<string, WebGLTexture>();
  constructor(private readonly gl: WebGL2RenderingContext) {}

  upload(name: string, data: Float32Array | Uint8Array | Uint32Array) {
    const { gl } = this;
    let texture = this.textures.get(name);
    if (!texture) this.textures.set(name, texture = gl.createTexture() as WebGLTexture);
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
    const width = 2048;
    if (data instanceof Float32Array) {
      const height = Math.max(1, Math.ceil(data.length / 4 / width));
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA32F, width, height, 0, gl.RGBA, gl.FLOAT, padded(data, 4 * width * height));
    } else {
      const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
      const height = Math.max(1, Math.ceil(bytes.length / 4 / width));
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, width, height, 0, gl.RGBA, gl.UNSIGNED_BYTE, padded(bytes, 4 * width * height));
    }
  }
  bind(unit: number, name: string) {
    this.gl.activeTexture(this.gl.TEXTURE0 + unit);
    this.gl.bindTexture(this.gl.TEXTURE_2D, this.textures.get(name) ?? null);
  }
}

function padded<T extends Float32Array | Uint8Array>(data: T, length: number): T {
  if (data.length === length) return data;
  const made = (data instanceof Float32Array ? new Float32Array(length) : new Uint8Array(length)) as T;
  made.set(data);
  return made;
}

class WebGlRenderer implements Renderer {
  private readonly boxProgram: Program;
  private readonly lineProgram: Program;
  private readonly tables: Tables;

  constructor(private readonly gl: WebGL2RenderingContext) {
    this.boxProgram = new Program(gl, boxVertex, boxFragment);
    this.lineProgram = new Program(gl, lineVertex, lineFragment);
    this.tables = new Tables(gl);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  setShapes(shapes: Shapes) {
    this.tables.upload("boxes", shapes.boxes);
    this.tables.upload("boxStyles", shapes.boxStyle);
    this.tables.upload("lines", shapes.lines);
    this.tables.upload("lineStyles", shapes.lineStyle);
    this.setColors(shapes);
  }
  setColors(shapes: Shapes) {
    this.tables.upload("fills", shapes.fills);
    this.tables.upload("strokes", shapes.strokes);
    this.tables.upload("tints", shapes.lineColor);
  }

  draw(shapes: Shapes, camera: Camera, ratio: number, background: string, overlay: Overlay) {
    const { gl } = this;
    const { width, height } = gl.canvas;
    gl.viewport(0, 0, width, height);
    const rgb = Number.parseInt(background.slice(1), 16);
    gl.clearColor((rgb >> 16) / 255, ((rgb >> 8) & 255) / 255, (rgb & 255) / 255, 1);
    gl.clear(gl.COLOR_BUFFER_BIT);
    this.beginBoxes("", camera, ratio);
    this.drawRange(0, shapes.openCount);
    this.beginLines("", camera, ratio, fadeOf(shapes, camera));
    for (const [begin, end] of lineRanges(shapes, camera)) this.drawRange(begin, end);
    this.beginBoxes("", camera, ratio);
    for (const [begin, end] of rangesIn(shapes.boxTiles, shapes.boxCount, shapes.openCount, camera)) this.drawRange(begin, end);
    this.drawOverlay(overlay, camera, ratio);
  }

  private drawOverlay({ boxes, lines }: Overlay, camera: Camera, ratio: number) {
    if (lines.length > 0) {
      this.tables.upload("overLines", Float32Array.from(lines.flatMap((l) => [l.x0, l.y0, l.x1, l.y1])));
      this.tables.upload("overLineStyles", Float32Array.from(lines.flatMap((l) => [l.w0, l.w1, 0, 0])));
      this.tables.upload("overTints", Uint32Array.from(lines, (l) => l.color));
      this.beginLines("over", camera, ratio, 1);
      this.drawRange(0, lines.length);
    }
    if (boxes.length === 0) return;
    this.tables.upload("overBoxes", Float32Array.from(boxes.flatMap((b) => [b.x, b.y, b.width, b.height])));
    this.tables.upload("overFills", Uint32Array.from(boxes, (b) => b.fill));
    this.tables.upload("overStrokes", Uint32Array.from(boxes, (b) => b.stroke));
    this.tables.upload("overBoxStyles", Uint8Array.from(boxes.flatMap((b) => [b.radius, b.line * 4, 0, 0])));
    this.beginBoxes("over", camera, ratio);
    this.drawRange(0, boxes.length);
  }

  private beginBoxes(over: string, camera: Camera, ratio: number) {
    const names = ["boxes", "fills", "strokes", "boxStyles"];
    names.forEach((name, unit) => this.tables.bind(unit, prefixed(over, name)));
    this.boxProgram.use(camera, ratio, 1);
  }
  private beginLines(over: string, camera: Camera, ratio: number, fade: number) {
    const names = ["lines", "tints", "tints", "lineStyles"];
    names.forEach((name, unit) => this.tables.bind(unit, prefixed(over, name)));
    this.lineProgram.use(camera, ratio, fade);
  }
  private drawRange(begin: number, end: number) {
    if (end > begin) this.gl.drawArrays(this.gl.TRIANGLES, 6 * begin, 6 * (end - begin));
  }

  destroy() {
    this.gl.getExtension("WEBGL_lose_context")?.loseContext();
  }
}

function prefixed(over: string, name: string): string { return over ? over + name[0].toUpperCase() + name.slice(1) : name; }

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
    gl.useProgram(this.program);
    ["boxes", "fills", "strokes", "styles"].forEach((name, unit) => gl.uniform1i(gl.getUniformLocation(this.program, name), unit));
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

/** Zoomed out, a hundred thousand lines would hide the boxes. */
export function fadeOf(shapes: Shapes, camera: Camera): number {
  const perPixel = shapes.lineCount / Math.max(1, shapes.width * camera.scale * shapes.height * camera.scale);
  return Math.min(1, Math.max(0.12, 0.02 / Math.max(perPixel, 1e-9)));
}

/** Returns the lines to draw: the visible ones, or a sample of each tile if there are too many to distinguish. */
export function lineRanges(shapes: Shapes, camera: Camera): [number, number][] {
  const ranges = rangesIn(shapes.lineTiles, shapes.lineCount, 0, camera);
  const total = ranges.reduce((sum, [begin, end]) => sum + end - begin, 0);
  const tiles = shapes.lineTiles;
  if (total <= mostLines || !tiles) return ranges;
  const share = mostLines / total;
  return ranges.flatMap(([begin, end]): [number, number][] => {
    const parts: [number, number][] = [];
    let at = lowerBound(tiles.begin, begin);
    for (let from = begin; from < end; from = tiles.begin[at]) {
      while (tiles.begin[at] <= from) ++at;
      const to = Math.min(end, tiles.begin[at]);
      parts.push([from, from + Math.ceil((to - from) * share)]);
    }
    return parts;
  });
}

function lowerBound(sorted: Uint32Array, value: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns the ranges of shapes that may be visible. */
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

