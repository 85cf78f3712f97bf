// The picture of a body on a canvas: what parts.ts promises, and what the graph tab needs beyond it.
import { Camera, type Rect } from "./camera.js";
import { make } from "../elements/element.js";
import { Flight } from "./flight.js";
import { Gestures } from "./gestures.js";
import { emptyOverlay, linesOfEdge, outline, outlineMarks, trace, traceEdgesOf } from "../drawing/highlight.js";
import { boxAt, lineAt } from "./hit.js";
import { Layouts } from "../layout/layout.js";
import { Trees, type ViewOptions } from "../layout/levels.js";
import { Hues, paintShapes, type ColorMode } from "../drawing/paint.js";
import type { Palette } from "../drawing/palette.js";
import type { Decorations, GraphView, Mark } from "../parts.js";
import { Picture, type Place } from "../layout/picture.js";
import type { Overlay } from "../drawing/renderer.js";
import type { Scene } from "../scene/scene.js";
import { Screen } from "../drawing/screen.js";
import { shapesOf, type Shapes } from "../drawing/shapes.js";
import { tipOfBox, tipOfLine } from "./tips.js";

export interface Selection { node: number | null; place: Place }
export interface ViewState { body: number; open: string[] }

const defaultOptions: ViewOptions = {
  control: true, soft: false, chain: true, constantsBeside: true, grouped: true,
};

/** Milliseconds after the page began: then something must be seen. */
const patience = 750;

const layouts = new Layouts();
/** Starts the workers while the graph is still being read. */
export function warmUp() { layouts.start(); }

export class GraphCanvas implements GraphView {
  readonly camera = new Camera();
  readonly hues: Hues;
  picture!: Picture;
  shapes: Shapes | null = null;
  options: ViewOptions = { ...defaultOptions };
  mode: ColorMode = "op";
  decorations: Decorations = {};
  /** The edges of a path that is shown. */
  pathEdges: number[] = [];
  private selection: Selection | null = null;
  private readonly trees: Trees;
  private readonly tip = make("div", { class: "graph-tip" });
  private readonly busy = make("div", { class: "graph-busy" });
  private readonly screen: Screen;
  private readonly gestures: Gestures;
  private readonly sizes: ResizeObserver;
  private readonly listeners: ((node: number | null) => void)[] = [];
  private readonly placeListeners: ((selection: Selection | null) => void)[] = [];
  private readonly changeListeners: (() => void)[] = [];
  private readonly raceMarks: [number, Mark][];
  overlay: Overlay = emptyOverlay();
  private work: Promise<void> = Promise.resolve();
  private pictureCame!: () => void;
  private readonly flight: Flight;
  private isFitted = true;
  /** Room below the picture, for what the tab lays over it. */
  footOf = () => 0;
  /** How much of it a panel covers. */
  coveredBelow = () => 0;

  constructor(readonly host: HTMLElement, readonly scene: Scene, public palette: Palette,
    body: number | null = 0, open: string[] | null = null) {
    this.trees = new Trees(scene);
    this.hues = new Hues(scene);
    host.classList.add("graph-view");
    this.screen = new Screen(host, this.camera, this);
    this.flight = new Flight(this.camera, () => this.screen.move());
    host.append(this.tip, this.busy);
    this.busy.setAttribute("role", "status");
    this.gestures = new Gestures(host, {
      pan: (dx, dy) => { this.panBy(dx, dy); },
      zoom: (factor, x, y) => { this.zoomAt(factor, x, y); },
      click: (x, y, event) => this.clicked(x, y, event),
      doubleClick: (x, y) => this.toggleAt(x, y),
      hover: (x, y) => this.hovered(x, y),
      leave: () => { this.tip.hidden = true; },
    });
    this.raceMarks = scene.races.flatMap((race) => race.nodes.map((node): [number, Mark] => [node, "race"]));
    this.tip.hidden = this.busy.hidden = true;
    this.sizes = new ResizeObserver(() => this.resize());
    this.sizes.observe(host);
    this.resize();
    if (body !== null) this.showBody(body, open);
  }

  /** Resolves when there is a first picture, be it rough. */
  readonly firstPicture = new Promise<void>((resolve) => { this.pictureCame = resolve; });
  /** Resolves when what was asked for is drawn. */
  settled(): Promise<void> { return this.work; }

  private later(what: string, action: () => Promise<void> | void): Promise<void> {
    this.work = this.work.then(async () => {
      this.host.setAttribute("aria-busy", "true");
      const timer = setTimeout(() => { this.busy.hidden = false; this.busy.textContent = what; }, 200);
      try {
        await action();
      } finally {
        clearTimeout(timer);
        this.busy.hidden = true;
        this.host.removeAttribute("aria-busy");
      }
    });
    return this.work;
  }

  showBody(body: number, open: string[] | null = null) {
    void this.later("Laying out the graph …", async () => {
      if (this.scene.bodies[body].end - this.scene.bodies[body].first > 200_000) await this.say("Grouping the nodes …");
      this.picture = new Picture(this.scene, body, this.trees, this.options, layouts, open);
      this.selection = null;
      const wasRough = await this.layoutSoon();
      this.place();
      // The reader may have moved the rough picture.
      if (!wasRough || this.isFitted) this.fitNow();
      this.pictureCame();
      this.changed();
    });
  }

  /** Lays out; if that takes long, a rough picture comes before. */
  private async layoutSoon(): Promise<boolean> {
    const done = this.layout().then(() => true);
    const late = new Promise<boolean>((resolve) => setTimeout(() => resolve(false), Math.max(250, patience - performance.now())));
    const isRough = !(await Promise.race([done, late])) && this.picture.canBeRough();
    if (isRough) {
      this.picture.layoutRoughly();
      this.takeShapes();
      this.fitNow();
      this.pictureCame();
    }
    await done;
    return isRough;
  }

  /** A picture is drawn with other options: what is open stays open. */
  setOptions(options: Partial<ViewOptions>) {
    void this.later("Laying out the graph …", async () => {
      const regroups = options.grouped !== undefined && options.grouped !== this.options.grouped;
      this.options = { ...this.options, ...options };
      if (this.scene.nodeCount > 200_000) await this.say("Laying out the graph …");
      const open = regroups ? null : this.picture.openKeys();
      this.picture = new Picture(this.scene, this.picture.body, this.trees, this.options, layouts, open);
      await this.layout();
      this.place();
      if (regroups) this.fitNow();
      this.changed();
    });
  }

  private async say(text: string) {
    this.busy.hidden = false;
    this.busy.textContent = text;
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  }

  private async layout() {
    await this.picture.layout();
    this.takeShapes();
  }
  private takeShapes() {
    this.shapes = shapesOf(this.picture);
    this.camera.setBounds({ x: 0, y: 0, width: this.shapes.width, height: this.shapes.height });
    this.paint();
    this.screen.setShapes(this.shapes);
  }

  private paint() {
    if (this.shapes) paintShapes(this.shapes, this.palette, this.mode, this.hues, this.decorations);
  }

  repaint() {
    if (!this.shapes) return;
    this.paint();
    this.screen.setColors(this.shapes);
    this.highlight();
  }
  setMode(mode: ColorMode) { this.mode = mode; this.repaint(); }
  setPalette(palette: Palette) { this.palette = palette; this.repaint(); }
  decorate(decorations: Decorations) {
    const recolors = Boolean(decorations.heat || decorations.dead || this.decorations.heat || this.decorations.dead);
    this.decorations = decorations;
    if (recolors) this.repaint();
    else this.highlight();
  }
  setPath(edges: number[]) { this.pathEdges = edges; this.highlight(); }

  /** The selection, found again after the picture changed. */
  private place() {
    const { selection } = this;
    if (selection) {
      const { node } = selection;
      const { level, place } = selection.place;
      const found = node !== null ? this.picture.find(node) : this.findBox(level.childKey(place));
      this.selection = found && { node, place: found };
    }
    this.highlight();
  }

  private findBox(key: string): Place | null {
    for (const level of this.picture.levels()) {
      if (!key.startsWith(`${level.key}.`) || key.indexOf(".", level.key.length + 1) >= 0) continue;
      for (let place = 0; place < level.count; ++place) if (level.childKey(place) === key) return { level, place };
    }
    return null;
  }

  highlight() {
    const overlay = emptyOverlay();
    if (this.picture && this.shapes) {
      outlineMarks(overlay, this.picture, this.palette, this.decorations, this.raceMarks);
      for (const edge of this.pathEdges)
        for (const line of linesOfEdge(this.picture, edge)) trace(overlay, line, this.palette.accent, 2);
      const { selection } = this;
      if (selection?.node != null) traceEdgesOf(overlay, this.picture, selection.node, this.palette);
      if (selection) outline(overlay, selection.place, this.palette.accent, 2.5, 2);
    }
    this.overlay = overlay;
    this.redraw();
  }

  redraw() { this.screen.redraw(); }

  resize() {
    const { clientWidth, clientHeight } = this.host;
    const { width, height } = this.camera;
    if (clientWidth === 0 || clientHeight === 0 || (clientWidth === width && clientHeight === height)) return;
    this.screen.resize(clientWidth, clientHeight);
    this.camera.resize(clientWidth, clientHeight);
    if (this.isFitted) this.fitNow();
    else this.screen.draw();
  }

  fit() { void this.later("", () => this.flight.to(this.fittedView())); this.isFitted = true; }
  private fitNow() {
    if (!this.shapes) return;
    this.isFitted = true;
    this.camera.set(this.fittedView());
    this.redraw();
  }
  private fittedView() { return this.camera.fitted(this.bounds(), 1.15, 4, this.footOf()); }
  /** Whether the picture leaves most of the screen empty. */
  private isSmall(): boolean { return this.fittedView().scale > this.camera.scale * 1.3; }
  private bounds(): Rect { return { x: 0, y: 0, width: this.shapes?.width ?? 1, height: this.shapes?.height ?? 1 }; }
  zoomBy(factor: number) { this.zoomAt(factor, this.camera.width / 2, this.camera.height / 2); }
  private zoomAt(factor: number, x: number, y: number) {
    this.moved();
    this.camera.zoom(factor, x, y);
    this.screen.move();
  }
  private moved() {
    this.flight.stop();
    this.isFitted = false;
    this.tip.hidden = true;
  }

  panBy(dx: number, dy: number) {
    this.moved();
    this.camera.pan(dx, dy);
    this.screen.move();
  }

  /** Brings a box into sight, at a size at which it can be read. */
  private bring({ level, place }: Place, isTooSmall = false) {
    if (!level.result) return;
    const rect = {
      x: level.x + level.result.x[place], y: level.y + level.result.y[place],
      width: level.widthOf(place), height: level.heightOf(place),
    };
    const { x, y } = this.camera.toScreen(rect.x, rect.y);
    const [width, height] = [rect.width * this.camera.scale, rect.height * this.camera.scale];
    const margin = 24;
    const covered = this.coveredBelow();
    const readable = !isTooSmall && (this.camera.scale >= 0.55 || level.open.has(place));
    if (readable && x >= margin && y >= margin && x + width <= this.camera.width - margin && y + height <= this.camera.height - covered - margin)
      return this.redraw();
    this.isFitted = false;
    const fitted = this.camera.fitted(rect, Math.max(0.85, Math.min(1.15, this.camera.scale)), 60, covered);
    this.flight.to(fitted);
  }

  /** Brings nodes into sight together, or the closed groups that hold them. */
  showNodes(nodes: number[]) {
    void this.later("", () => {
      let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
      for (const node of nodes) {
        const at = this.picture.find(node);
        if (!at?.level.result) continue;
        const x = at.level.x + at.level.result.x[at.place];
        const y = at.level.y + at.level.result.y[at.place];
        [left, top] = [Math.min(left, x), Math.min(top, y)];
        [right, bottom] = [Math.max(right, x + at.level.widthOf(at.place)), Math.max(bottom, y + at.level.heightOf(at.place))];
      }
      if (left > right) return;
      this.isFitted = false;
      this.flight.to(this.camera.fitted({ x: left, y: top, width: right - left, height: bottom - top }, 1.15, 50, this.coveredBelow()));
    });
  }

  reveal(node: number) {
    void this.later("Laying out the group …", async () => {
      if (!this.picture.find(node)) {
        this.picture = new Picture(this.scene, this.scene.bodyOf(node), this.trees, this.options, layouts, null);
        await this.layout();
        this.fitNow();
      }
      const before = this.picture.openKeys().length;
      const place = await this.picture.unfold(node);
      if (!place) return;
      if (this.picture.openKeys().length !== before || !this.shapes) await this.layout();
      this.selection = { node, place };
      this.highlight();
      this.bring(place);
      this.changed();
    });
  }

  toggle(at: Place): Promise<void> {
    return this.later("Laying out the group …", async () => {
      const { level, place } = at;
      if (!level.opens(place) || !level.result) return;
      const before = this.camera.toScreen(level.x + level.result.x[place], level.y + level.result.y[place]);
      const opens = !level.open.has(place);
      if (opens) { if (!this.picture.open(level, place)) return; }
      else this.picture.close(level, place);
      await this.layout();
      this.place();
      // What was opened stays where it was pointed at.
      this.camera.x = level.x + level.result.x[place] - before.x / this.camera.scale;
      this.camera.y = level.y + level.result.y[place] - before.y / this.camera.scale;
      this.isFitted = false;
      this.tip.hidden = true;
      if (opens) this.bring(at, this.camera.scale < 0.5);
      else if (this.isSmall()) this.flight.to(this.fittedView());
      this.redraw();
      this.changed();
    });
  }
  private toggleAt(x: number, y: number) {
    const at = this.boxAtScreen(x, y);
    if (at && at.level.opens(at.place)) void this.toggle(at);
  }

  private boxAtScreen(x: number, y: number): Place | null {
    if (!this.picture?.root.result) return null;
    const world = this.camera.toWorld(x, y);
    return boxAt(this.picture.root, world.x, world.y);
  }

  private clicked(x: number, y: number, event: PointerEvent) {
    this.host.focus({ preventScroll: true });
    const at = this.boxAtScreen(x, y);
    if (!at) return this.choose(null, event.shiftKey);
    const { level, place } = at;
    const box = this.camera.toScreen(level.x + (level.result?.x[place] ?? 0), level.y + (level.result?.y[place] ?? 0));
    const onChevron = level.opens(place) && x - box.x < 26 * this.camera.scale &&
      y - box.y < 30 * this.camera.scale;
    if (onChevron) return void this.toggle(at);
    this.choose(at, event.shiftKey);
  }

  /** With shift, listeners of the graph tab look for a path. */
  onShiftClick: ((node: number) => void) | null = null;

  choose(at: Place | null, shift = false) {
    const node = at ? at.level.nodeAt(at.place) : -1;
    if (shift && node >= 0 && this.onShiftClick) return this.onShiftClick(node);
    this.selection = at && { node: node >= 0 ? node : null, place: at };
    this.highlight();
    for (const listener of this.listeners) listener(node >= 0 ? node : null);
    for (const listener of this.placeListeners) listener(this.selection);
    this.changed();
  }
  bringSelection() { if (this.selection) this.bring(this.selection.place); }

  private hovered(x: number, y: number) {
    if (!this.shapes) return;
    const at = this.boxAtScreen(x, y);
    const world = this.camera.toWorld(x, y);
    const isOpen = !at || at.level.open.has(at.place);
    const line = isOpen ? lineAt(this.shapes.levels, world.x, world.y, 5 / this.camera.scale) : null;
    const content = line ? tipOfLine(line.level, line.bundle) : at && !isOpen ? tipOfBox(at) : null;
    this.host.style.cursor = at && !isOpen ? "pointer" : line ? "help" : "";
    this.tip.hidden = content === null;
    if (!content) return;
    this.tip.replaceChildren(...content);
    const left = Math.min(x + 14, this.camera.width - this.tip.offsetWidth - 8);
    const top = y + 18 + this.tip.offsetHeight > this.camera.height ? y - this.tip.offsetHeight - 10 : y + 18;
    this.tip.style.transform = `translate(${Math.max(4, left)}px, ${Math.max(4, top)}px)`;
  }

  selected(): number | null { return this.selection?.node ?? null; }
  selectedPlace(): Selection | null { return this.selection; }
  onSelect(listener: (node: number | null) => void) { this.listeners.push(listener); }
  onSelectPlace(listener: (selection: Selection | null) => void) { this.placeListeners.push(listener); }
  /** After the body, what is open or what is selected changed. */
  onChange(listener: () => void) { this.changeListeners.push(listener); }
  private changed() { for (const listener of this.changeListeners) listener(); }
  state(): ViewState { return { body: this.picture.body, open: this.picture.openKeys() }; }

  destroy() {
    this.flight.stop();
    this.gestures.destroy();
    this.sizes.disconnect();
    this.screen.destroy();
    this.host.replaceChildren();
  }
}
