// The page around its tabs: title, search, theme, address.
import { readAddress, writeAddress } from "./address.js";
import * as compareTab from "./tabs/compare.js";
import { make } from "./elements/element.js";
import { GraphCanvas } from "./view/graph_view.js";
import * as graphTab from "./tabs/graph.js";
import { showHelp } from "./help.js";
import { iconButton } from "./elements/icons.js";
import type { App, GraphView, Tab, TabName } from "./parts.js";
import { decodeScene, type Scene } from "./scene/scene.js";
import { SearchBox } from "./panels/search_box.js";
import type { Sections } from "./sections.js";
import { shown } from "./texts/shown.js";
import * as stepsTab from "./tabs/steps.js";
import { ThemeChoice } from "./theme.js";
import * as timeTab from "./tabs/time.js";

interface TabEntry { title: string; section: string; create: (app: App) => Tab }

const entries: Record<TabName, TabEntry> = {
  graph: { title: "Graph", section: "scene", create: graphTab.createTab },
  compare: { title: "Compare", section: "other", create: compareTab.createTab },
  time: { title: "Time", section: "trace", create: timeTab.createTab },
  steps: { title: "Steps", section: "steps", create: stepsTab.createTab },
};
const names = Object.keys(entries) as TabName[];

export class PageApp implements graphTab.GraphTabPage {
  readonly sections = new Map<string, Uint8Array>();
  other: Scene | null = null;
  readonly graphHost = make("div", { class: "graph-host" });
  readonly view: GraphCanvas;
  readonly theme = new ThemeChoice();
  private readonly views = new Set<GraphCanvas>();
  private readonly tabs = new Map<TabName, Tab>();
  private readonly tabButtons = new Map<TabName, HTMLButtonElement>();
  private readonly panes = make("main", { class: "panes" });
  private readonly live = make("div", { class: "visually-hidden" });
  private readonly searchBox: SearchBox;
  private current: TabName = "graph";
  /** The page doesn't update the address while it follows it. */
  private isFollowing = true;

  constructor(readonly host: HTMLElement, readonly scene: Scene, sectionNames: string[]) {
    this.searchBox = new SearchBox(scene, (node) => { this.openTab("graph"); this.select(node, true); });
    this.live.setAttribute("aria-live", "polite");
    host.replaceChildren(this.topBar(sectionNames), this.panes, this.live);
    document.title = `${shown(scene.title.split("/").pop() || "graph", 80)} · Treadle`;
    this.makeFocusable();
    const address = readAddress(location.hash);
    const body = this.bodyNamed(address.body);
    this.view = new GraphCanvas(this.graphHost, scene, this.theme.palette(), null);
    this.views.add(this.view);
    this.openTab("graph");
    this.view.resize();
    this.view.showBody(body, address.open);
    this.theme.onChange((palette) => this.themeChanged(palette));
    this.view.onChange(() => this.writeAddress());
    addEventListener("keydown", (event) => this.key(event));
    addEventListener("popstate", () => this.follow());
  }
  get graph(): GraphView { return this.view; }

  /** After the first picture, navigates to the address and loads the data of other tabs. */
  async finish(sections: Sections): Promise<void> {
    await this.view.firstPicture;
    // The frame that draws it is requested by now; tests and `./dev bench view` look for the mark.
    requestAnimationFrame(() => setTimeout(() => performance.mark("treadle:first-picture")));
    await this.view.settled();
    const { node, tab } = readAddress(location.hash);
    const found = node === null ? null : this.scene.find(node, this.view.state().body);
    if (found !== null) this.select(found, true);
    await this.view.settled();
    this.isFollowing = false;
    for (const name of sections.names) {
      if (name === "scene") continue;
      this.sections.set(name, await sections.load(name));
      if (name === "other") this.other = decodeScene(this.sections.get(name) as Uint8Array);
      for (const [tabName, button] of this.tabButtons) if (entries[tabName].section === name) button.disabled = false;
    }
    if (names.includes(tab as TabName)) this.openTab(tab as TabName);
  }

  private makeFocusable() {
    this.graphHost.tabIndex = 0;
    this.graphHost.setAttribute("role", "application");
    this.graphHost.setAttribute("aria-roledescription", "graph");
    this.graphHost.setAttribute("aria-label", "The graph. Arrow keys go from node to node, Enter opens a group, ? shows all keys.");
  }

  private topBar(sectionNames: string[]): HTMLElement {
    const tabs = make("div", { class: "tabs", label: "Views" });
    tabs.setAttribute("role", "tablist");
    for (const name of names) {
      if (!sectionNames.includes(entries[name].section)) continue;
      const button = make("button", {}, entries[name].title);
      button.type = "button";
      button.setAttribute("role", "tab");
      button.disabled = name !== "graph";
      button.addEventListener("click", () => this.openTab(name));
      this.tabButtons.set(name, button);
      tabs.append(button);
    }
    // A single tab needs no tab bar.
    tabs.hidden = this.tabButtons.size < 2;
    const title = shown(this.scene.title.split("/").pop() || this.scene.title, 80);
    return make("header", { class: "top" },
      make("div", { class: "title", title: shown(this.scene.title, 400) }, make("b", {}, "Treadle"), make("span", {}, title)),
      tabs, this.searchBox.element,
      make("div", { class: "tools" }, iconButton("theme", "Dark or light (T)", () => this.theme.toggleTheme()),
        iconButton("contrast", "High contrast (C)", () => this.theme.toggleContrast()), iconButton("keys", "Keys (?)", showHelp)));
  }

  createGraphView(host: HTMLElement, scene: Scene): GraphView {
    const view = new GraphCanvas(host, scene, this.theme.palette(), null);
    this.views.add(view);
    return view;
  }

  openTab(name: TabName) {
    if (this.tabButtons.get(name)?.disabled) return;
    if (this.tabs.has(this.current) && this.current !== name) this.tabs.get(this.current)?.hidden();
    let tab = this.tabs.get(name);
    if (!tab) {
      tab = entries[name].create(this);
      tab.element.classList.add("pane");
      tab.element.setAttribute("role", "tabpanel");
      this.tabs.set(name, tab);
      this.panes.append(tab.element);
    }
    this.current = name;
    for (const [other, { element }] of this.tabs) element.hidden = other !== name;
    for (const [other, button] of this.tabButtons) button.setAttribute("aria-selected", String(other === name));
    tab.shown();
    this.writeAddress();
  }

  select(node: number | null, reveal = false) {
    if (node === null) this.view.choose(null);
    else if (reveal) { this.view.reveal(node); void this.view.settled().then(() => this.graphPart()?.nodeSelected()); }
    else { const place = this.view.picture?.find(node); if (place) this.view.choose(place); }
  }
  private graphPart() { return this.tabs.get("graph") as unknown as { nodeSelected(): void; themeChanged(): void } | undefined; }
  search(query: string) { this.searchBox.open(query); }
  announce(text: string) { this.live.textContent = text; }

  private themeChanged(palette: ReturnType<ThemeChoice["palette"]>) {
    for (const view of this.views) view.setPalette(palette);
    this.graphPart()?.themeChanged();
  }

  private bodyNamed(name: string | null): number {
    const found = name === null ? -1 : this.scene.bodies.findIndex((body) => body.name === name);
    return Math.max(0, found);
  }
  private writeAddress() {
    if (this.isFollowing || !this.view.picture) return;
    const { body, open } = this.view.state();
    const node = this.view.selected();
    const hash = writeAddress({
      tab: this.current, body: body === 0 ? null : this.scene.bodies[body].name, open,
      node: node === null ? null : this.scene.name(node),
    });
    if (hash === location.hash) return;
    const before = readAddress(location.hash);
    // Back returns to the previous view, skipping groups that were opened on the way.
    const isStep = before.node !== (node === null ? null : this.scene.name(node)) || before.tab !== this.current ||
      this.bodyNamed(before.body) !== body;
    try {
      history[isStep ? "pushState" : "replaceState"](null, "", hash);
    } catch {
      // An embedded page, as in a notebook, may have no address of its own.
    }
  }
  private follow() {
    const { tab, body, node, open } = readAddress(location.hash);
    this.isFollowing = true;
    if (names.includes(tab as TabName)) this.openTab(tab as TabName);
    const wanted = this.bodyNamed(body);
    if (this.view.state().body !== wanted) this.view.showBody(wanted, open);
    const found = node === null ? null : this.scene.find(node, wanted);
    this.select(found, true);
    void this.view.settled().then(() => { this.isFollowing = false; });
  }

  private key(event: KeyboardEvent) {
    const { target } = event;
    const isTyping = target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const actions: Record<string, () => void> = {
      "/": () => this.searchBox.open(), "?": showHelp, t: () => this.theme.toggleTheme(), c: () => this.theme.toggleContrast(),
    };
    if (this.tabs.get(this.current)?.key(event)) return event.preventDefault();
    if (!actions[event.key]) return;
    actions[event.key]();
    event.preventDefault();
  }
}
