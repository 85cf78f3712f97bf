// The graph tab: the picture between outline and details, with its options above.
import { sentenceFor } from "../view/announce.js";
import { Details } from "../panels/details.js";
import { make, toggle } from "../elements/element.js";
import type { GraphCanvas, Selection } from "../view/graph_view.js";
import { iconButton } from "../elements/icons.js";
import { inside, neighbour, type Direction } from "../view/neighbours.js";
import { Outline } from "../panels/outline.js";
import { colorModeNames, colorModes, type ColorMode } from "../drawing/paint.js";
import type { App, Tab } from "../parts.js";
import { shortestPath } from "../scene/path.js";
import { savePng, saveSvg } from "../drawing/save.js";
import { EdgeKind, type Scene } from "../scene/scene.js";
import { shown } from "../texts/shown.js";
import { count } from "../texts/texts.js";

/** The interface of the graph tab that other parts of the page don't have. */
export interface GraphTabPage extends App {
  readonly view: GraphCanvas;
  readonly graphHost: HTMLElement;
  search(query: string): void;
  announce(text: string): void;
}

export function createTab(app: App): Tab { return new GraphTab(app as GraphTabPage); }

const narrow = matchMedia("(max-width: 820px)");

class GraphTab implements Tab {
  readonly element = make("div", { class: "graph-tab" });
  private readonly details: Details;
  private readonly outline: Outline;
  private readonly outlinePanel: HTMLElement;
  private readonly detailsPanel: HTMLElement;
  private readonly legend = make("ul", { class: "legend", label: "What the colours mean" });
  private readonly bodySelect = make("select", { label: "Body" });
  private readonly notice = make("div", { class: "notice" });
  private pathFrom: number | null = null;

  constructor(private readonly app: GraphTabPage) {
    const { scene, view } = app;
    this.details = new Details(scene, {
      select: (node) => app.select(node, true), showBody: (body) => this.showBody(body),
      pathFrom: (node) => this.beginPath(node), toggle: () => this.toggleSelected(),
    });
    this.outline = new Outline(scene, {
      select: (node) => { app.select(node, true); this.closeSheets(); },
      showBody: (body) => { this.showBody(body); this.closeSheets(); }, search: (query) => app.search(query),
    });
    this.outlinePanel = this.panel("outline", "Outline", this.outline.element);
    this.detailsPanel = this.panel("details", "Details", this.details.element);
    this.notice.hidden = true;
    const stage = make("div", { class: "stage" }, app.graphHost, this.notice, this.legend, this.zoomButtons());
    this.element.append(this.outlinePanel, make("div", { class: "middle" }, this.bar(), stage), this.detailsPanel);
    this.outlinePanel.hidden = this.detailsPanel.hidden = narrow.matches;
    view.onSelectPlace((selection) => this.selected(selection));
    view.onChange(() => this.changed());
    view.onShiftClick = (node) => this.endPath(view.selected(), node);
    view.eye.coveredBelow = () => (narrow.matches && !this.detailsPanel.hidden ? this.detailsPanel.offsetHeight : 0);
    view.eye.footOf = () => (this.legend.offsetHeight > 0 ? this.legend.offsetHeight + 10 : 0);
    this.details.show(null);
    this.showLegend();
  }

  private panel(name: string, title: string, content: HTMLElement): HTMLElement {
    const panel = make("aside", { class: `panel ${name}-panel`, label: title });
    panel.append(make("div", { class: "panel-head" }, make("h2", {}, title),
      iconButton("close", `Close: ${title.toLowerCase()}`, () => this.showPanel(panel, false))), content);
    return panel;
  }
  private showPanel(panel: HTMLElement, isShown: boolean) {
    if (isShown && narrow.matches) this.closeSheets();
    panel.hidden = !isShown;
    this.app.view.resize();
  }
  togglePanel(name: "outline" | "details") {
    const panel = name === "outline" ? this.outlinePanel : this.detailsPanel;
    this.showPanel(panel, panel.hidden);
  }
  private closeSheets() {
    if (narrow.matches) this.outlinePanel.hidden = this.detailsPanel.hidden = true;
  }

  private bar(): HTMLElement {
    const { scene, view } = this.app;
    const bar = make("div", { class: "bar", label: "How the graph is drawn" });
    bar.setAttribute("role", "toolbar");
    scene.bodies.forEach((body, i) => {
      if (i > 2000) return;
      const name = shown(body.name || "graph", 60);
      this.bodySelect.append(new Option(body.kind === "flat" ? `${name}, as it runs` : name, String(i)));
    });
    this.bodySelect.addEventListener("change", () => this.showBody(Number(this.bodySelect.value)));
    const colors = make("select", { label: "Colour by" });
    for (const mode of colorModes) if (hasMode(scene, mode)) colors.append(new Option(`colour: ${colorModeNames[mode]}`, mode));
    colors.addEventListener("change", () => { view.setMode(colors.value as ColorMode); this.showLegend(); });
    const kinds = new Set(scene.edgeKind);
    const { options } = view;
    const edges: [keyof typeof options, number, string, string][] = [
      ["control", EdgeKind.Control, "Control", "Edges that only order nodes"],
      ["soft", EdgeKind.Soft, "Soft", "Orders that may be taken either way"],
      ["chain", EdgeKind.Chain, "Chains", "Values that only order effects"],
    ];
    bar.append(
      iconButton("outline", "Outline (O)", () => this.togglePanel("outline")), this.bodySelect, colors,
      ...edges.filter(([, kind]) => kinds.has(kind)).map(([option, , name, hint]) =>
        toggle(name, hint, options[option], (isOn) => view.setOptions({ [option]: isOn }))),
      toggle("Constants beside", "Constants and weights that feed one node are drawn small, beside it", options.constantsBeside,
        (isOn) => view.setOptions({ constantsBeside: isOn })),
      toggle("Groups", "Nodes of one scope, loop or run are drawn as a group", options.grouped, (isOn) => view.setOptions({ grouped: isOn })),
      make("span", { class: "space" }), this.saveMenu(), iconButton("details", "Details (D)", () => this.togglePanel("details")),
    );
    if (scene.bodies.length < 2) this.bodySelect.hidden = true;
    return bar;
  }

  private saveMenu(): HTMLElement {
    const menu = make("details", { class: "menu" });
    const summary = make("summary", { class: "icon", title: "Save what is in sight", label: "Save what is in sight" });
    summary.append(iconButton("save", "", () => undefined).firstChild as Node);
    const item = (text: string, action: () => void) => {
      const made = make("button", {}, text);
      made.addEventListener("click", () => { menu.open = false; action(); });
      return made;
    };
    const { view } = this.app;
    menu.append(summary, make("div", { class: "menu-items" }, item("Save as PNG", () => void savePng(view)), item("Save as SVG", () => saveSvg(view))));
    menu.addEventListener("focusout", (event) => { if (!menu.contains(event.relatedTarget as Node | null)) menu.open = false; });
    return menu;
  }

  private zoomButtons(): HTMLElement {
    const { view } = this.app;
    return make("div", { class: "zoom" }, iconButton("plus", "Zoom in (+)", () => view.zoomBy(1.4)),
      iconButton("minus", "Zoom out (−)", () => view.zoomBy(1 / 1.4)), iconButton("fit", "Fit (F)", () => view.fit()));
  }

  private showLegend() {
    const { view } = this.app;
    const { hues } = view.palette;
    this.legend.replaceChildren(...view.hues.legend(view.mode).map(({ text, hue }) => {
      const swatch = make("i");
      swatch.style.background = hues[hue % hues.length].fill;
      swatch.style.borderColor = hues[hue % hues.length].line;
      return make("li", {}, swatch, shown(text, 70));
    }));
    this.legend.hidden = view.mode === "heat";
  }
  themeChanged() { this.showLegend(); }

  private showBody(body: number) {
    this.app.view.showBody(body);
    this.details.show(null);
  }
  private changed() {
    const { body } = this.app.view.state();
    this.bodySelect.value = String(body);
    this.outline.setBody(body);
    // The details of a group depend on whether it is open.
    const selection = this.app.view.selectedPlace();
    if (selection?.node === null) this.details.show(selection);
  }

  private selected(selection: Selection | null) {
    if (this.pathFrom !== null && selection?.node != null && selection.node !== this.pathFrom) this.endPath(this.pathFrom, selection.node);
    if (selection === null) this.setPath([]);
    this.details.show(selection);
    // On a small screen, the details cover half of it, so a tap next to the boxes doesn't show
    // them.
    const isOpen = selection?.place.level.open.has(selection.place.place);
    if (selection && !isOpen && narrow.matches && this.detailsPanel.hidden) {
      this.showPanel(this.detailsPanel, true);
      this.app.view.bringSelection();
    }
    if (this.notice.hidden) this.app.announce(sentenceFor(this.app.scene, selection));
  }
  /** Call this after the page itself selected a node. */
  nodeSelected() { this.selected(this.app.view.selectedPlace()); }

  private say(text: string) {
    this.notice.textContent = text;
    this.notice.hidden = text === "";
    if (text) this.app.announce(text);
  }
  private beginPath(node: number) {
    this.pathFrom = node;
    this.say("Select the node that the path shall lead to. Esc ends this.");
  }
  private endPath(from: number | null, to: number) {
    this.pathFrom = null;
    if (from === null) { this.say(""); return; }
    const { scene } = this.app;
    const forwards = shortestPath(scene, from, to);
    const path = forwards ?? shortestPath(scene, to, from);
    const names = [from, to].map((node) => shown(scene.name(node), 50));
    if (!path) this.say(`No path leads from ${names[0]} to ${names[1]}, and none back.`);
    else this.say(forwards ? `${count(path.length, "edge")} from ${names[0]} to ${names[1]}.`
      : `No path leads to ${names[1]}. The other way round: ${count(path.length, "edge")}.`);
    this.setPath(path ?? []);
    if (path) this.app.view.showNodes([from, ...path.map((edge) => scene.edgeTo[edge]), to]);
  }
  private setPath(edges: number[]) {
    const { view, scene } = this.app;
    if (edges.length === 0 && view.pathEdges.length === 0) return;
    const { marks, ...others } = view.decorations;
    const kept = new Map([...(marks ?? [])].filter(([, mark]) => mark !== "path"));
    for (const edge of edges) for (const node of [scene.edgeFrom[edge], scene.edgeTo[edge]]) kept.set(node, "path");
    view.decorate({ ...others, marks: kept });
    view.setPath(edges);
    if (edges.length === 0) this.say("");
  }

  private toggleSelected() {
    const { view } = this.app;
    const selection = view.selectedPlace();
    if (selection) void view.toggle(selection.place).then(() => this.selected(view.selectedPlace()));
  }

  shown() { this.app.view.resize(); }
  hidden() { /* The picture costs nothing while it isn't seen. */ }

  key(event: KeyboardEvent): boolean {
    const { view } = this.app;
    const direction = ({ ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right" } as Record<string, Direction>)[event.key];
    if (direction) return this.arrow(direction, event.shiftKey);
    const onButton = event.target instanceof HTMLElement && event.target.closest("button, a, summary, select") !== null;
    const actions: Record<string, () => void> = {
      Escape: () => { this.pathFrom = null; this.say(""); view.choose(null); },
      Backspace: () => this.goOut(), f: () => view.fit(), "0": () => view.fit(), "+": () => view.zoomBy(1.3), "=": () => view.zoomBy(1.3),
      "-": () => view.zoomBy(1 / 1.3), o: () => this.togglePanel("outline"), d: () => this.togglePanel("details"),
      p: () => { const node = view.selected(); if (node !== null) this.beginPath(node); },
      ...(onButton ? {} : { Enter: () => (event.shiftKey ? this.goIn() : this.toggleSelected()) }),
    };
    const action = actions[event.key];
    action?.();
    return action !== undefined;
  }
  private arrow(direction: Direction, pans: boolean): boolean {
    const { view } = this.app;
    if (pans) {
      const step = 80;
      view.panBy(direction === "left" ? step : direction === "right" ? -step : 0, direction === "up" ? step : direction === "down" ? -step : 0);
      return true;
    }
    const to = view.picture && neighbour(view.picture, view.selectedPlace()?.place ?? null, direction);
    if (to) { view.choose(to); view.bringSelection(); }
    return true;
  }
  private goIn() {
    const { view } = this.app;
    const place = view.selectedPlace()?.place;
    const level = place?.level.open.get(place.place);
    if (level && level.count > 0) { view.choose(inside(level)); view.bringSelection(); }
  }
  private goOut() {
    const { view } = this.app;
    const level = view.selectedPlace()?.place.level;
    if (level?.parent) { view.choose({ level: level.parent, place: level.place }); view.bringSelection(); }
  }
}

function hasMode(scene: Scene, mode: ColorMode): boolean {
  if (mode === "resource") return scene.resources.length > 0;
  return mode !== "cluster" || scene.clusters.length > 0;
}
