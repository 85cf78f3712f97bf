// The camera: screen = (world - (x, y)) * scale, in CSS pixels.

export interface Rect { x: number; y: number; width: number; height: number }

const nearest = 8;

export class Camera {
  x = 0;
  y = 0;
  scale = 1;
  width = 1;
  height = 1;
  /** The extent of the picture, which limits zooming out. */
  private bounds: Rect = { x: 0, y: 0, width: 1, height: 1 };

  setBounds(bounds: Rect) { this.bounds = bounds; }
  resize(width: number, height: number) {
    this.width = Math.max(1, width);
    this.height = Math.max(1, height);
  }

  private farthest(): number {
    const { width, height } = this.bounds;
    return Math.min(1, 0.5 * Math.min(this.width / Math.max(1, width), this.height / Math.max(1, height)));
  }

  /** The view that shows a rectangle whole; not enlarged beyond `most`. */
  fitted(rect: Rect, most = 1.15, margin = 12, foot = 0): { x: number; y: number; scale: number } {
    const scale = Math.min(most,
      Math.max(1, this.width - 2 * margin) / Math.max(1, rect.width),
      Math.max(1, this.height - foot - 2 * margin) / Math.max(1, rect.height));
    return {
      x: rect.x + rect.width / 2 - this.width / 2 / scale,
      y: rect.y + rect.height / 2 - (this.height - foot) / 2 / scale, scale,
    };
  }
  set(view: { x: number; y: number; scale: number }) { Object.assign(this, view); }
  pan(dx: number, dy: number) {
    this.x -= dx / this.scale;
    this.y -= dy / this.scale;
    this.keepInSight();
  }
  /** Zooms around a point of the screen. */
  zoom(factor: number, screenX: number, screenY: number) {
    const scale = Math.min(nearest, Math.max(this.farthest(), this.scale * factor));
    this.x += screenX / this.scale - screenX / scale;
    this.y += screenY / this.scale - screenY / scale;
    this.scale = scale;
    this.keepInSight();
  }
  private keepInSight() {
    const { x, y, width, height } = this.bounds;
    const spanX = this.width / this.scale;
    const spanY = this.height / this.scale;
    this.x = Math.min(x + width - spanX * 0.2, Math.max(x - spanX * 0.8, this.x));
    this.y = Math.min(y + height - spanY * 0.2, Math.max(y - spanY * 0.8, this.y));
  }
  toWorld(screenX: number, screenY: number): { x: number; y: number } {
    return { x: screenX / this.scale + this.x, y: screenY / this.scale + this.y };
  }
  toScreen(x: number, y: number): { x: number; y: number } {
    return { x: (x - this.x) * this.scale, y: (y - this.y) * this.scale };
  }
  sight(): Rect {
    return { x: this.x, y: this.y, width: this.width / this.scale, height: this.height / this.scale };
  }
}
