// The timeline: a canvas that is redrawn after changes, with mouse, touch and keyboard input.
import type { Spans } from "./computing.js";
import { lowerBound } from "./columns.js";
import { axisHeight, Painter, type Colours, type Emphasis } from "./paint.js";
import { Places } from "./places.js";
import { Pointers } from "./pointers.js";
import type { Trace } from "./trace.js";
import { Viewport } from "./viewport.js";

export interface Listener {
  /** A slice, or -1, at a place of the page. */
  hover(slice: number, x: number, y: number): void;
  select(slice: number): void;
}

export class Timeline {
  readonly element = document.createElement("div");
  readonly emphasis: Emphasis = { selected: -1, hovered: -1, path: null, only: null };
  private readonly canvas = document.createElement("canvas");
  private readonly scroller = this.element;
  private readonly spacer = document.createElement("div");
  private readonly view: Viewport;
  private readonly places: Places;
  private readonly painter: Painter;
  private left = 150;
  private width = 0;
  private height = 0;
  private frame = 0;

  constructor(
    private readonly trace: Trace,
    computing: Spans,
    opsByTime: readonly number[],
    private readonly listener: Listener,
  ) {
    this.view = new Viewport(trace.from, trace.to, 1);
    this.places = new Places(trace);
    this.painter = new Painter(trace, this.places, computing, opsByTime);
    this.element.className = "timeline";
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "application");
    this.canvas.setAttribute(
      "aria-label",
      "Timeline. Arrow keys move, plus and minus zoom, comma and full stop go from slice to slice, Enter shows the node in the graph.",
    );
    this.spacer.className = "timeline-space";
    this.spacer.style.height = `${this.places.height + axisHeight + 8}px`;
    this.element.append(this.canvas, this.spacer);
    this.scroller.addEventListener("scroll", () => this.draw());
    this.listen();
    new ResizeObserver(() => this.resize()).observe(this.element);
    // Colours come from the page's variables, which its theme sets.
    new MutationObserver(() => this.draw()).observe(document.documentElement, { attributes: true });
    matchMedia("(forced-colors: active)").addEventListener("change", () => this.draw());
  }

  get contentHeight(): number {
    return this.places.height + axisHeight + 8;
  }

  private listen(): void {
    const { canvas, view } = this;
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    new Pointers(canvas, {
      pan: (dx, dy) => {
        view.pan(-dx);
        this.scroller.scrollTop -= dy;
        this.draw();
      },
      zoom: (factor, x) => this.zoom(factor, x - this.left),
      move: (x, y, event) => this.hover(this.sliceAt(x, y), event),
      leave: () => this.hover(-1),
      click: (x, y) => this.select(this.sliceAt(x, y)),
      doubleClick: (x, y) => {
        const slice = this.sliceAt(x, y);
        if (slice >= 0) this.show(slice);
        else this.fit();
      },
    });
  }

  private wheel(event: WheelEvent): void {
    const unit = event.deltaMode === 1 ? 18 : event.deltaMode === 2 ? 300 : 1;
    const dx = event.deltaX * unit, dy = event.deltaY * unit;
    if (event.offsetX < this.left && !event.ctrlKey) return; // over names: scroll the tracks
    event.preventDefault();
    if (event.shiftKey || Math.abs(dx) > Math.abs(dy)) this.pan(event.shiftKey && !dx ? dy : dx);
    // A pinch on a touchpad is a wheel with Ctrl, in smaller steps.
    else this.zoom(Math.exp(Math.max(-200, Math.min(200, dy)) * (event.ctrlKey ? 0.01 : 0.002)), event.offsetX - this.left);
  }

  private hover(slice: number, event?: PointerEvent): void {
    if (slice !== this.emphasis.hovered) {
      this.emphasis.hovered = slice;
      this.draw();
    }
    this.canvas.style.cursor = slice >= 0 ? "pointer" : "";
    this.listener.hover(slice, event?.clientX ?? 0, event?.clientY ?? 0);
  }

  select(slice: number): void {
    this.emphasis.selected = slice;
    this.draw();
    this.listener.select(slice);
  }

  /** Brings the slice into sight. */
  show(slice: number): void {
    this.view.show(this.trace.begin[slice], this.trace.end[slice]);
    const y = this.places.yOfRow(this.trace.row[slice]), visible = this.height - axisHeight;
    if (y < this.scroller.scrollTop || y + 24 > this.scroller.scrollTop + visible)
      this.scroller.scrollTop = Math.max(0, y - visible / 2);
    this.draw();
  }

  /** The slice at a place of the canvas; the nearest one within three pixels; -1: none. */
  private sliceAt(x: number, y: number): number {
    if (x < this.left || y < axisHeight) return -1;
    const row = this.places.rowAt(y - axisHeight + this.scroller.scrollTop);
    if (row < 0) return -1;
    const { begin, end, rows } = this.trace, time = this.view.time(x - this.left);
    const near = 3 * this.view.scale, last = rows[row].end;
    let best = -1, distance = near;
    for (let i = lowerBound(end, rows[row].first, last, time - near); i < last && begin[i] <= time + near; ++i) {
      const away = Math.max(begin[i] - time, time - end[i], 0);
      if (away < distance || (away === 0 && best < 0)) {
        best = i;
        distance = away;
      }
      if (away === 0) break;
    }
    return best;
  }

  zoom(factor: number, x = this.view.width / 2): void {
    this.view.zoom(factor, Math.max(0, x));
    this.draw();
  }
  pan(pixels: number): void {
    this.view.pan(pixels);
    this.draw();
  }
  fit(): void {
    this.view.fit();
    this.draw();
  }

  /** Returns true if it handled the key. */
  key(event: KeyboardEvent): boolean {
    if (event.ctrlKey || event.metaKey || event.altKey) return false;
    const step = this.view.width / 10, slice = this.emphasis.selected;
    const actions: Record<string, () => void> = {
      ArrowLeft: () => this.pan(-step), a: () => this.pan(-step),
      ArrowRight: () => this.pan(step), d: () => this.pan(step),
      ArrowUp: () => (this.scroller.scrollTop -= 40), ArrowDown: () => (this.scroller.scrollTop += 40),
      "+": () => this.zoom(0.8), "=": () => this.zoom(0.8), w: () => this.zoom(0.8),
      "-": () => this.zoom(1.25), s: () => this.zoom(1.25),
      "0": () => this.fit(), Home: () => this.fit(),
      ",": () => this.step(-1), ".": () => this.step(1),
      f: () => slice >= 0 && this.show(slice),
      Escape: () => this.select(-1),
    };
    const action = actions[event.key];
    if (!action || (event.key === "Escape" && slice < 0)) return false;
    action();
    this.draw();
    return true;
  }

  /** To the neighbour of the selected slice on its row. */
  private step(by: number): void {
    const { selected } = this.emphasis;
    if (this.trace.length === 0) return;
    const row = selected < 0 ? null : this.trace.rows[this.trace.row[selected]];
    const next = row ? Math.min(Math.max(selected + by, row.first), row.end - 1) : 0;
    this.select(next);
    this.show(next);
  }

  resize(): void {
    const { clientWidth, clientHeight } = this.element;
    if (clientWidth === 0) return;
    const isFirst = this.width === 0;
    this.width = clientWidth;
    this.height = clientHeight;
    this.left = clientWidth < 560 ? 86 : 150;
    this.view.width = Math.max(1, clientWidth - this.left);
    if (isFirst) this.view.fit();
    this.draw();
  }

  /** With the next frame, however often it is called before. */
  draw(): void {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.drawNow();
    });
  }

  private drawNow(): void {
    const { canvas, width, height } = this, dots = devicePixelRatio || 1;
    if (width === 0 || height === 0) return;
    if (canvas.width !== Math.round(width * dots) || canvas.height !== Math.round(height * dots)) {
      canvas.width = Math.round(width * dots);
      canvas.height = Math.round(height * dots);
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
      this.spacer.style.marginTop = `${-height}px`;
    }
    const c = canvas.getContext("2d");
    if (!c) return;
    c.setTransform(dots, 0, 0, dots, 0, 0);
    this.painter.paint(c, this.view, this.left, height, this.scroller.scrollTop, coloursOf(this.element), this.emphasis);
  }
}

function coloursOf(element: HTMLElement): Colours {
  const style = getComputedStyle(element);
  const value = (name: string, otherwise: string) => style.getPropertyValue(name).trim() || otherwise;
  return {
    back: value("--time-back", "#fff"), text: value("--time-text", "#222"),
    faint: value("--time-faint", "#555"), line: value("--time-line", "#ddd"),
    accent: value("--time-accent", "#06c"), path: value("--time-path", "#d1242f"),
    isHighContrast: matchMedia("(forced-colors: active)").matches,
    font: style.fontFamily || "sans-serif",
  };
}
