// Pointers on a picture: drag to pan, wheel or pinch to zoom, click to select.

export interface GestureTarget {
  pan(dx: number, dy: number): void;
  zoom(factor: number, x: number, y: number): void;
  click(x: number, y: number, event: PointerEvent): void;
  doubleClick(x: number, y: number): void;
  hover(x: number, y: number): void;
  leave(): void;
}

/** Maximum movement of a pointer, in pixels, that counts as a click. */
const clickReach = 5;

export class Gestures {
  private readonly pointers = new Map<number, { x: number; y: number }>();
  private moved = 0;
  private lastClick = { time: 0, x: 0, y: 0 };
  private readonly stop = new AbortController();

  constructor(private readonly element: HTMLElement, private readonly target: GestureTarget) {
    const { signal } = this.stop;
    element.addEventListener("pointerdown", (event) => this.down(event), { signal });
    element.addEventListener("pointermove", (event) => this.move(event), { signal });
    element.addEventListener("pointerup", (event) => this.up(event), { signal });
    element.addEventListener("pointercancel", (event) => this.pointers.delete(event.pointerId), { signal });
    element.addEventListener("pointerleave", () => target.leave(), { signal });
    element.addEventListener("wheel", (event) => this.wheel(event), { signal, passive: false });
  }
  destroy() { this.stop.abort(); }

  private place(event: MouseEvent): { x: number; y: number } {
    const { left, top } = this.element.getBoundingClientRect();
    return { x: event.clientX - left, y: event.clientY - top };
  }

  private down(event: PointerEvent) {
    if (event.button > 1 || !(event.target instanceof HTMLCanvasElement)) return;
    if (this.pointers.size === 0) this.moved = 0;
    this.pointers.set(event.pointerId, this.place(event));
    this.element.setPointerCapture(event.pointerId);
  }

  private move(event: PointerEvent) {
    const now = this.place(event);
    const before = this.pointers.get(event.pointerId);
    if (!before) return this.target.hover(now.x, now.y);
    this.moved += Math.hypot(now.x - before.x, now.y - before.y);
    const other = [...this.pointers].find(([id]) => id !== event.pointerId)?.[1];
    if (other) {
      const was = Math.hypot(before.x - other.x, before.y - other.y);
      const is = Math.hypot(now.x - other.x, now.y - other.y);
      this.target.pan((now.x - before.x) / 2, (now.y - before.y) / 2);
      if (was > 0) this.target.zoom(is / was, (now.x + other.x) / 2, (now.y + other.y) / 2);
    } else if (this.moved > clickReach) {
      this.target.pan(now.x - before.x, now.y - before.y);
    }
    this.pointers.set(event.pointerId, now);
  }

  private up(event: PointerEvent) {
    if (!this.pointers.delete(event.pointerId) || this.moved > clickReach) return;
    const { x, y } = this.place(event);
    const { time, x: lastX, y: lastY } = this.lastClick;
    this.lastClick = { time: event.timeStamp, x, y };
    if (event.timeStamp - time < 350 && Math.hypot(x - lastX, y - lastY) < 12) {
      this.lastClick.time = 0;
      this.target.doubleClick(x, y);
    } else {
      this.target.click(x, y, event);
    }
  }

  private wheel(event: WheelEvent) {
    event.preventDefault();
    const { x, y } = this.place(event);
    const unit = event.deltaMode === 1 ? 20 : event.deltaMode === 2 ? 400 : 1;
    if (event.shiftKey) this.target.pan(-(event.deltaX || event.deltaY) * unit, 0);
    else this.target.zoom(Math.exp(-event.deltaY * unit * (event.ctrlKey ? 0.01 : 0.0016)), x, y);
  }
}
