// Mouse and fingers: one drags, two zoom and drag, a short touch is a click.

export interface PointerListener {
  pan(dx: number, dy: number): void;
  zoom(factor: number, x: number): void;
  move(x: number, y: number, event: PointerEvent): void;
  leave(): void;
  click(x: number, y: number): void;
  doubleClick(x: number, y: number): void;
}

/** Maximum movement of a finger that still counts as a click. */
const clickDistance = 5;

export class Pointers {
  private readonly down = new Map<number, { x: number; y: number }>();
  private moved = 0;

  constructor(
    private readonly element: HTMLElement,
    private readonly listener: PointerListener,
  ) {
    element.style.touchAction = "none";
    element.addEventListener("pointerdown", (event) => this.press(event));
    element.addEventListener("pointermove", (event) => this.move(event));
    element.addEventListener("pointerup", (event) => this.release(event, true));
    element.addEventListener("pointercancel", (event) => this.release(event, false));
    element.addEventListener("pointerleave", () => listener.leave());
    element.addEventListener("dblclick", (event) => listener.doubleClick(event.offsetX, event.offsetY));
  }

  private press(event: PointerEvent): void {
    if (event.button !== 0) return;
    this.element.setPointerCapture(event.pointerId);
    this.down.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    if (this.down.size === 1) this.moved = 0;
  }

  private move(event: PointerEvent): void {
    const last = this.down.get(event.pointerId), now = { x: event.offsetX, y: event.offsetY };
    if (!last) {
      if (event.pointerType === "mouse") this.listener.move(now.x, now.y, event);
      return;
    }
    const dx = now.x - last.x, dy = now.y - last.y;
    const other = [...this.down].find(([id]) => id !== event.pointerId)?.[1];
    this.moved += Math.abs(dx) + Math.abs(dy);
    if (this.moved <= clickDistance) return;
    this.down.set(event.pointerId, now);
    if (!other) return this.listener.pan(dx, dy);
    const before = Math.abs(last.x - other.x), after = Math.abs(now.x - other.x);
    // Fingers above each other say nothing about time.
    if (before > 20 && after > 20) this.listener.zoom(before / after, (now.x + other.x) / 2);
    this.listener.pan(dx / 2, dy / 2);
  }

  private release(event: PointerEvent, isClick: boolean): void {
    if (!this.down.delete(event.pointerId)) return;
    if (isClick && this.down.size === 0 && this.moved <= clickDistance)
      this.listener.click(event.offsetX, event.offsetY);
  }
}
