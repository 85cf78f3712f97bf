// The picture of a body on a canvas: the interface in parts.ts, and additions for the graph tab.
import { Camera } from "./camera.js";
import { make } from "../elements/element.js";
import { Eye, rectOf } from "./eye.js";
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
import { Work } from "./work.js";

export interface Selection { node: number | null; place: Place }
export interface ViewState { body: number; open: string[] }

const defaultOptions: ViewOptions = {
  control: true, soft: false, chain: true, constantsBeside: true, grouped: true,
};

/** Milliseconds after the page began, by which a first picture must be visible. */
const patience = 750;

const layouts = new Layouts();
/** Starts the workers while the graph is still being read. */
export function warmUp() { layouts.start(); }

export class GraphCanvas implements GraphView {
  readonly camera = new Camera();
  readonly eye: Eye;
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
  private readonly screen: Screen;
  private readonly gestures: Gestures;
  private readonly sizes: ResizeObserver;
  private readonly listeners: ((node: number | null) => void)[] = [];
  private readonly placeListeners: ((selection: Selection | null) => void)[] = [];
  private readonly changeListeners: (() => void)[] = [];
  private readonly raceMarks: [number, Mark][];
  overlay: Overlay = emptyOverlay();
  private readonly work: Work;
  private pictureCame!: () => void;

  constructor(readonly host: HTMLElement, readonly scene: Scene, public palette: Palette,
    body: number | null = 0, open: string[] | null = null) {
    this.trees = new Trees(scene);
    this.hues = new Hues(scene);
    host.classList.add("graph-view");
    this.screen = new Screen(host, this.camera, this);
    this.eye = new Eye(this.camera, this.screen, () => { this.tip.hidden = true; });
    host.append(this.tip);
    this.work = new Work(host);
    this.gestures = new Gestures(host, {
      pan: (dx, dy) => this.eye.panBy(dx, dy),
      zoom: (factor, x, y) => this.eye.zoomAt(factor, x, y),
      click: (x, y, event) => this.clicked(x, y, event),
      doubleClick: (x, y) => this.toggleAt(x, y),
      hover: (x, y) => this.hovered(x, y),
      leave: () => { this.tip.hidden = true; },
    });
    this.raceMarks = scene.races.flatMap((race) => race.nodes.map((node): [number, Mark] => [node, "race"]));
    this.tip.hidden = true;
    this.sizes = new ResizeObserver(() => this.resize());
    this.sizes.observe(host);
    this.resize();
    if (body !== null) this.showBody(body, open);
  }

  /** Resolves when there is a first picture, possibly a rough one. */
  readonly firstPicture = new Promise<void>((resolve) => { this.pictureCame = resolve; });
  /** Resolves when everything requested is drawn. */
  settled(): Promise<void> { return this.work.settled(); }

  showBody(body: number, open: string[] | null = null) {
    void this.work.later("Laying out the graph …", async () => {
      if (this.scene.bodies[body].end - this.scene.bodies[body].first > 200_000) await this.work.say("Grouping the nodes …");
      this.picture = new Picture(this.scene, body, this.trees, this.options, layouts, open);
      this.selection = null;
      const wasRough = await this.layoutSoon();
      this.place();
      // The user may have moved the rough picture.
      if (!wasRough || this.eye.isFitted) this.eye.fitNow();
      this.pictureCame();
      this.changed();
    });
  }

  /** Lays out; if that takes long, shows a rough picture before. */
  private async layoutSoon(): Promise<boolean> {
    const done = this.layout().then(() => true);
    const late = new Promise<boolean>((resolve) => setTimeout(() => resolve(false), Math.max(250, patience - performance.now())));
    const isRough = !(await Promise.race([done, late])) && this.picture.canBeRough();
    if (isRough) {
      this.picture.layoutRoughly();
      this.takeShapes();
      this.eye.fitNow();
      this.pictureCame();
    }
    await done;
    return isRough;
  }

  /** Redraws with other options; open groups stay open. */
  setOptions(options: Partial<ViewOptions>) {
    void this.work.later("Laying out the graph …", async () => {
      const regroups = options.grouped !== undefined && options.grouped !== this.options.grouped;
      this.options = { ...this.options, ...options };
      if (this.scene.nodeCount > 200_000) await this.work.say("Laying out the graph …");
      const open = regroups ? null : this.picture.openKeys();
      this.picture = new Picture(this.scene, this.picture.body, this.trees, this.options, layouts, open);
      await this.layout();
      this.place();
      if (regroups) this.eye.fitNow();
      this.changed();
    });
  }

  private async layout() {
    await this.picture.layout();
    this.takeShapes();
  }
  private takeShapes() {
    this.shapes = shapesOf(this.picture);
    this.eye.setBounds(this.shapes.width, this.shapes.height);
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

  /** Finds the selection again after the picture changed. */
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
    this.eye.resize(clientWidth, clientHeight);
  }

  fit() { void this.work.later("", () => this.eye.fit()); }
  zoomBy(factor: number) { this.eye.zoomAt(factor, this.camera.width / 2, this.camera.height / 2); }
  panBy(dx: number, dy: number) { this.eye.panBy(dx, dy); }

  /** Brings nodes into sight together, or the closed groups that hold them. */
  showNodes(nodes: number[]) {
    void this.work.later("", () =>
      this.eye.bringAll(nodes.map((node) => this.picture.find(node)).filter((place) => place !== null)));
  }

  reveal(node: number) {
    void this.work.later("Laying out the group …", async () => {
      if (!this.picture.find(node)) {
        this.picture = new Picture(this.scene, this.scene.bodyOf(node), this.trees, this.options, layouts, null);
        await this.layout();
        this.eye.fitNow();
      }
      const before = this.picture.openKeys().length;
      const place = await this.picture.unfold(node);
      if (!place) return;
      if (this.picture.openKeys().length !== before || !this.shapes) await this.layout();
      this.selection = { node, place };
      this.highlight();
      this.eye.bring(place);
      this.changed();
    });
  }

  toggle(at: Place): Promise<void> {
    return this.work.later("Laying out the group …", async () => {
      const { level, place } = at;
      if (!level.opens(place) || !level.result) return;
      const before = this.camera.toScreen(level.x + level.result.x[place], level.y + level.result.y[place]);
      const opens = !level.open.has(place);
      if (opens) { if (!this.picture.open(level, place)) return; }
      else this.picture.close(level, place);
      await this.layout();
      this.place();
      // The opened box stays at the pointer.
      this.eye.hold({ x: level.x + level.result.x[place], y: level.y + level.result.y[place] }, before);
      this.tip.hidden = true;
      if (opens) this.eye.bring(at, this.camera.scale < 0.5);
      else this.eye.fitIfSmall();
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
    const rect = rectOf(at);
    const box = this.camera.toScreen(rect?.x ?? 0, rect?.y ?? 0);
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
  bringSelection() { if (this.selection) this.eye.bring(this.selection.place); }

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
  /** Called after the body, the open groups or the selection changed. */
  onChange(listener: () => void) { this.changeListeners.push(listener); }
  private changed() { for (const listener of this.changeListeners) listener(); }
  state(): ViewState { return { body: this.picture.body, open: this.picture.openKeys() }; }

  destroy() {
    this.eye.stop();
    this.gestures.destroy();
    this.sizes.disconnect();
    this.screen.destroy();
    this.host.replaceChildren();
  }
}
