// The tab with the timeline of a trace and its sums.
import { button, make, toggle } from "../elements/element.js";
import type { App, Tab } from "../parts.js";
import { factsOf } from "../time/about.js";
import { computingSpans, exchangesOf } from "../time/computing.js";
import { Causes, criticalPath, type CriticalPath } from "../time/critical.js";
import { exchangesTable, pathTable, timesTable, waitsTable } from "../time/panels.js";
import { count, duration, share, short } from "../texts/texts.js";
import { Timeline } from "../time/timeline.js";
import { isOpSlice, timesOf, type Times } from "../time/times.js";
import { buildTrace, type Trace } from "../time/trace.js";
import { longestWaits, type Wait } from "../time/waits.js";
import { shownNode, wiresOf } from "../time/wires.js";

export function createTab(app: App): Tab {
  const tab = new TimeTab(app);
  void tab.read();
  return tab;
}

type PanelName = "ops" | "nodes" | "path" | "waits" | "exchanges";

class TimeTab implements Tab {
  readonly element = make("div", { class: "time-tab" });
  private readonly note = make("p", { class: "time-note" }, "Reading the trace …");
  private readonly panelHost = make("div", { class: "time-panel" });
  private readonly tip = make("div", { class: "time-tip" });
  private readonly about = make("div", { class: "time-about" });
  private trace: Trace | null = null;
  private timeline: Timeline | null = null;
  private causes: Causes | null = null;
  private path: CriticalPath | null = null;
  private times: Times | null = null;
  private readonly nodeOfName = new Map<number, number>();
  private panelButtons = new Map<PanelName, HTMLButtonElement>();

  constructor(private readonly app: App) {
    this.note.setAttribute("role", "status");
    this.about.setAttribute("aria-live", "polite");
    this.tip.hidden = true;
    this.element.append(this.note);
  }

  async read(): Promise<void> {
    const bytes = this.app.sections.get("trace");
    if (!bytes) return this.say("There is no trace. Record one, and open it beside the graph:", true);
    try {
      let last = performance.now();
      const trace = await buildTrace(bytes, async (done) => {
        if (performance.now() - last < 40) return;
        this.say(`Reading the trace: ${Math.round(100 * done)} %`);
        await new Promise((resolve) => setTimeout(resolve));
        last = performance.now();
      });
      this.show(trace);
    } catch (error) {
      this.say(`The trace can't be read: ${error instanceof Error ? error.message : String(error)}.`);
    }
  }

  private say(text: string, isHelp = false): void {
    this.note.textContent = text;
    if (isHelp)
      this.note.append(
        make("pre", {}, "treadle run MODEL --fetch ... --trace t.json\ntreadle view MODEL --trace t.json"));
  }

  private show(trace: Trace): void {
    this.trace = trace;
    if (trace.length === 0) return this.say("The trace is empty: nothing ran while it was recorded.");
    const wires = wiresOf(this.app.scene);
    this.causes = new Causes(trace, wires);
    this.path = criticalPath(trace, this.causes);
    this.times = timesOf(trace);
    this.timeline = new Timeline(trace, computingSpans(trace), this.times.byOp.map((row) => row.text), {
      hover: (slice, x, y) => this.hover(slice, x, y),
      select: (slice) => this.selected(slice),
    });
    this.timeline.element.style.setProperty("--time-height", `${this.timeline.contentHeight}px`);
    this.element.replaceChildren(
      this.toolbar(), this.summary(trace), this.timeline.element, this.about, this.panelBar(trace), this.panelHost, this.tip);
    this.selected(-1);
    this.openPanel("ops");
  }

  private toolbar(): HTMLElement {
    const timeline = this.timeline!;
    return make(
      "div", { class: "part-bar" },
      button("All", "Show the whole run (0)", () => timeline.fit()),
      button("−", "Zoom out (-)", () => timeline.zoom(1.5)),
      button("+", "Zoom in (+)", () => timeline.zoom(1 / 1.5)),
      toggle("Critical path", "Mark the chain of slices that the run waited for", false, (isOn) => {
        timeline.emphasis.path = isOn ? this.path!.slices : null;
        timeline.draw();
        if (isOn) this.openPanel("path");
      }),
      toggle("Heat on the graph", "Colour the nodes of the graph by their own time", false, (isOn) => this.heat(isOn)),
      button("Save for Perfetto", "Save the trace as a file", () => this.save()),
      make("span", { class: "part-hint" }, "Perfetto opens it: ui.perfetto.dev, “Open trace file”."),
    );
  }

  private summary(trace: Trace): HTMLElement {
    const whole = trace.to - trace.from, path = this.path!, exchanges = exchangesOf(trace);
    const threads = trace.tracks.filter((track) => track.group === 1).length;
    const parts = [
      `${duration(whole)} on ${count(threads, "thread")}`,
      count(trace.length, "slice"),
      `critical path ${duration(path.busy)}, ${share(path.busy, whole)} of the run`,
    ];
    if (exchanges.count) parts.push(`${share(exchanges.hidden, exchanges.time)} of exchanges hidden`);
    const line = make("p", { class: "time-summary" }, parts.join(" · "));
    for (const text of [this.strangers(trace), leftOut(trace)])
      if (text) line.append(make("span", { class: "part-warning" }, text));
    return line;
  }

  /** Warns if the trace is of another graph. */
  private strangers(trace: Trace): string {
    const missing = new Set<number>(), known = new Set<number>();
    for (let slice = 0; slice < trace.length; ++slice)
      if (trace.op[slice] && isOpSlice(trace, slice))
        (this.nodeOf(slice) < 0 ? missing : known).add(trace.name[slice]);
    if (missing.size <= known.size) return "";
    const names = [...missing].slice(0, 3).map((name) => `‘${short(trace.texts[name], 40)}’`);
    return `This looks like the trace of another graph: ${missing.size} of ${count(missing.size + known.size, "name")}` +
      ` in it, such as ${names.join(", ")}, aren't in this one.`;
  }

  /** The node to show for a slice, or -1. */
  private nodeOf(slice: number): number {
    const trace = this.trace!, name = trace.name[slice];
    if (trace.op[slice] === 0) return -1;
    let node = this.nodeOfName.get(name);
    if (node === undefined) this.nodeOfName.set(name, (node = shownNode(this.app.scene, trace.texts[name])));
    return node;
  }

  private hover(slice: number, x: number, y: number): void {
    this.tip.hidden = slice < 0;
    if (slice < 0) return;
    const { title, lines } = factsOf(this.trace!, slice);
    this.tip.replaceChildren(make("strong", {}, title), factList(lines));
    const { innerWidth, innerHeight } = window, box = this.tip.getBoundingClientRect();
    this.tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - box.width - 8))}px`;
    this.tip.style.top = `${y + 18 + box.height > innerHeight ? Math.max(4, y - box.height - 12) : y + 18}px`;
  }

  private selected(slice: number): void {
    if (slice < 0) {
      this.about.replaceChildren(make("span", { class: "part-hint" }, "Click a slice: it is selected in the graph too."));
      return;
    }
    const { title, lines } = factsOf(this.trace!, slice), node = this.nodeOf(slice);
    this.about.replaceChildren(
      make("strong", {}, title), factList(lines), ...this.causeOf(slice),
      node >= 0
        ? button("Show in the graph", "Open the graph at this node (Enter)", () => this.showInGraph(slice))
        : make("span", { class: "part-hint" }, this.trace!.op[slice] ? "No node of the graph has this name." : ""),
    );
    if (node >= 0) this.app.select(node, true);
  }

  /** A button for the slice that this one could have waited for, if known. */
  private causeOf(slice: number): HTMLElement[] {
    if (this.trace!.op[slice] === 0 || this.trace!.hasInner[slice]) return [];
    const cause = this.causes!.of(slice);
    if (!cause) return [];
    const name = short(this.trace!.texts[this.trace!.name[cause.slice]], 60);
    const why = cause.isByEdge ? "Waited last for" : "Ran on its thread after";
    return [button(`${why} ${name}`, "Go to that slice", () => this.go(cause.slice))];
  }

  private go(slice: number): void {
    this.timeline!.select(slice);
    this.timeline!.show(slice);
  }

  private showInGraph(slice: number): void {
    const node = this.nodeOf(slice);
    if (node < 0) return;
    this.app.openTab("graph");
    this.app.select(node, true);
  }

  private panelBar(trace: Trace): HTMLElement {
    const hasExchanges = exchangesOf(trace).count > 0;
    const names: [PanelName, string][] = [
      ["ops", "Ops"], ["nodes", "Nodes"], ["path", "Critical path"], ["waits", "Waits"],
      ...(hasExchanges ? ([["exchanges", "Exchanges"]] as [PanelName, string][]) : []),
    ];
    const bar = make("div", { class: "part-bar panel-bar", label: "What the times say" });
    bar.setAttribute("role", "group");
    for (const [name, text] of names) {
      const choose = button(text, "", () => this.openPanel(name));
      this.panelButtons.set(name, choose);
      bar.append(choose);
    }
    return bar;
  }

  private openPanel(name: PanelName): void {
    for (const [other, choose] of this.panelButtons) choose.setAttribute("aria-pressed", String(other === name));
    this.timeline!.emphasis.only = null;
    this.timeline!.draw();
    this.panelHost.replaceChildren(this.panel(name));
    this.panelHost.scrollTop = 0;
  }

  private panel(name: PanelName): HTMLElement {
    const trace = this.trace!, listener = {
      show: (slice: number) => this.go(slice),
      only: (of: { name: number; op: number } | null, slice: number) => {
        this.timeline!.emphasis.only = of;
        this.go(slice);
      },
    };
    switch (name) {
      case "ops": return timesTable(trace, this.times!, "op", listener);
      case "nodes": return timesTable(trace, this.times!, "node", listener);
      case "path": return pathTable(trace, this.path!, listener);
      case "exchanges": return exchangesTable(trace, listener);
      case "waits": {
        const waits = longestWaits(trace, this.causes!);
        return waitsTable(trace, waits, (wait) => this.waitedFor(wait), listener);
      }
    }
  }

  private waitedFor(wait: Wait): string {
    const trace = this.trace!, name = (slice: number) => trace.texts[trace.name[slice]];
    if (wait.cause >= 0) return `‘${short(name(wait.cause), 80)}’ on ${trace.tracks[trace.rows[trace.row[wait.cause]].track].name}`;
    if (wait.kind === "thread") return "nothing that the graph names: no op was ready, or the run began there";
    const node = this.nodeOf(wait.slice), { scene } = this.app;
    const resources = node < 0 ? [] : scene.effectsOf(node).map((effect) => scene.resources[effect.resource].name);
    return resources.length ? [...new Set(resources)].join(", ") : "another run, or another rank";
  }

  private heat(isOn: boolean): void {
    if (!isOn) return this.app.graph.decorate({});
    const trace = this.trace!, { scene } = this.app;
    const heat = new Map<number, number>(), most = this.times!.byNode[0]?.own || 1;
    for (const row of this.times!.byNode) {
      const node = this.nodeOf(row.slice);
      // A v1 loop isn't a node, so the time of running it belongs to no node.
      if (node >= 0 && !isNamed(trace.texts[row.text], scene.name(node))) continue;
      // Uses the square root, so that a hundredth of the maximum is still visible.
      if (node >= 0) heat.set(node, Math.max(heat.get(node) ?? 0, Math.sqrt(row.own / most)));
    }
    this.app.graph.decorate({ heat });
    this.app.openTab("graph");
  }

  private save(): void {
    const bytes = this.app.sections.get("trace")! as Uint8Array<ArrayBuffer>;
    const url = URL.createObjectURL(new Blob([bytes], { type: "application/json" }));
    const link = make("a");
    link.href = url;
    link.download = "trace.json";
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  }

  shown(): void {
    this.timeline?.resize();
  }
  hidden(): void {
    this.tip.hidden = true;
  }
  key(event: KeyboardEvent): boolean {
    const timeline = this.timeline;
    if (!timeline) return false;
    const isOnControl = event.target instanceof Element && event.target.closest("button, a, input, select, tr[tabindex]");
    if (event.key === "Enter" && !isOnControl && timeline.emphasis.selected >= 0) {
      this.showInGraph(timeline.emphasis.selected);
      return true;
    }
    return timeline.key(event);
  }
}

/** Returns whether a slice of this name ran the node itself or its replacement. */
function isNamed(slice: string, node: string): boolean {
  return slice === node || slice.endsWith(`/${node}`) || slice.startsWith(`${node}/`);
}

function factList(lines: [string, string][]): HTMLElement {
  const list = make("dl", { class: "fact-list" });
  for (const [name, value] of lines) list.append(make("div", {}, make("dt", {}, name), make("dd", {}, value)));
  return list;
}

function leftOut(trace: Trace): string {
  const number = Number(trace.facts["slices left out"] ?? 0);
  return number > 0 ? `${count(number, "later slice")} didn't fit into the trace.` : "";
}
