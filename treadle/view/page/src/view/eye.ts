// Controls the camera: zooms, moves and fits the picture, and makes parts of it visible.
import type { Screen } from "../drawing/screen.js";
import type { Place } from "../layout/picture.js";
import type { Camera, Rect } from "./camera.js";
import { Flight } from "./flight.js";

export class Eye {
  private readonly flight: Flight;
  private bounds: Rect | null = null;
  /** Whether the user hasn't moved the picture since it was fitted. */
  isFitted = true;
  /** Room below the picture for overlays of the tab. */
  footOf = () => 0;
  /** The size that a panel covers. */
  coveredBelow = () => 0;

  constructor(private readonly camera: Camera, private readonly screen: Screen, private readonly onMove: () => void) {
    this.flight = new Flight(camera, () => screen.move());
  }

  setBounds(width: number, height: number) {
    this.bounds = { x: 0, y: 0, width, height };
    this.camera.setBounds(this.bounds);
  }
  resize(width: number, height: number) {
    this.camera.resize(width, height);
    if (this.isFitted) this.fitNow();
    else this.screen.draw();
  }
  stop() { this.flight.stop(); }

  fit() {
    this.flight.to(this.fittedView());
    this.isFitted = true;
  }
  fitNow() {
    if (!this.bounds) return;
    this.isFitted = true;
    this.camera.set(this.fittedView());
    this.screen.redraw();
  }
  private fittedView() {
    return this.camera.fitted(this.bounds ?? { x: 0, y: 0, width: 1, height: 1 }, 1.15, 4, this.footOf());
  }
  /** Limits moves that would leave most of the screen empty. */
  fitIfSmall() {
    const view = this.fittedView();
    if (view.scale > this.camera.scale * 1.3) this.flight.to(view);
  }

  zoomAt(factor: number, x: number, y: number) {
    this.moved();
    this.camera.zoom(factor, x, y);
    this.screen.move();
  }
  panBy(dx: number, dy: number) {
    this.moved();
    this.camera.pan(dx, dy);
    this.screen.move();
  }
  private moved() {
    this.flight.stop();
    this.isFitted = false;
    this.onMove();
  }

  /** Keeps a point of the picture where it is on the screen. */
  hold(world: { x: number; y: number }, screen: { x: number; y: number }) {
    this.camera.x = world.x - screen.x / this.camera.scale;
    this.camera.y = world.y - screen.y / this.camera.scale;
    this.isFitted = false;
  }

  /** Brings a box into sight, at a size at which it can be read. */
  bring(at: Place, isTooSmall = false) {
    const rect = rectOf(at);
    if (!rect) return;
    const { camera } = this;
    const { x, y } = camera.toScreen(rect.x, rect.y);
    const [width, height] = [rect.width * camera.scale, rect.height * camera.scale];
    const margin = 24;
    const covered = this.coveredBelow();
    const readable = !isTooSmall && (camera.scale >= 0.55 || at.level.open.has(at.place));
    if (readable && x >= margin && y >= margin && x + width <= camera.width - margin && y + height <= camera.height - covered - margin)
      return this.screen.redraw();
    this.isFitted = false;
    this.flight.to(camera.fitted(rect, Math.max(0.85, Math.min(1.15, camera.scale)), 60, covered));
  }

  /** Brings boxes into sight together. */
  bringAll(places: Place[]) {
    const rects = places.map(rectOf).filter((rect) => rect !== null);
    if (rects.length === 0) return;
    const [x, y] = [Math.min(...rects.map((rect) => rect.x)), Math.min(...rects.map((rect) => rect.y))];
    const right = Math.max(...rects.map((rect) => rect.x + rect.width));
    const bottom = Math.max(...rects.map((rect) => rect.y + rect.height));
    this.isFitted = false;
    this.flight.to(this.camera.fitted({ x, y, width: right - x, height: bottom - y }, 1.15, 50, this.coveredBelow()));
  }
}

/** Returns the position of a box; null if it has none yet. */
export function rectOf({ level, place }: Place): Rect | null {
  if (!level.result) return null;
  return {
    x: level.x + level.result.x[place], y: level.y + level.result.y[place],
    width: level.widthOf(place), height: level.heightOf(place),
  };
}
