// The panel with the details of the selected node or group, or of the graph.
import { headerOf } from "../layout/captions.js";
import { button, make } from "../elements/element.js";
import type { Selection } from "../view/graph_view.js";
import { histogram } from "./histogram.js";
import { EdgeKind, type Loop, type Race, type Scene } from "../scene/scene.js";
import { shown } from "../texts/shown.js";
import { edgeKindNames } from "../view/tips.js";
import { count } from "../texts/texts.js";

export interface DetailsActions {
  select(node: number): void;
  showBody(body: number): void;
  pathFrom(node: number): void;
  toggle(): void;
}

/** Number of elements of longer lists that are shown at first. */
const mostRows = 40;

export class Details {
  readonly element = make("div", { class: "details" });

  constructor(private readonly scene: Scene, private readonly actions: DetailsActions) {}

  show(selection: Selection | null) {
    const content = selection === null ? this.ofGraph()
      : selection.node !== null ? this.ofNode(selection.node) : this.ofGroup(selection);
    this.element.replaceChildren(...content);
    this.element.scrollTop = 0;
  }

  private ofGraph(): HTMLElement[] {
    const { scene } = this;
    const [graph] = scene.bodies;
    const functions = scene.bodies.filter(({ kind }) => kind === "function").length;
    return [
      heading("Graph", graph.name),
      facts([
        ["Nodes", (graph.end - graph.first).toLocaleString("en")],
        ["Functions", functions ? functions.toLocaleString("en") : ""],
        ["Loops", scene.loops.length ? scene.loops.length.toLocaleString("en") : ""],
        ["Compiled", scene.clusters.length ? count(scene.clusters.length, "cluster") : ""],
        ["Races", scene.races.length ? scene.races.length.toLocaleString("en") : ""],
      ]),
      ...scene.signatures.slice(0, 20).map((signature) => section(`Signature ${shown(signature.name, 60)}`,
        ...this.rows("takes", signature.inputs), ...this.rows("gives", signature.outputs))),
      make("p", { class: "hint" }, "Select a node to see what is known of it. Press ? for the keys."),
    ];
  }
  private rows(what: string, values: { key: string; node: number; type: string }[]): HTMLElement[] {
    return values.slice(0, mostRows).map(({ key, node, type }) => make("div", { class: "row" },
      make("span", { class: "faint" }, what), node >= 0 ? this.link(node, shown(key, 60)) : shown(key, 60), typeText(type)));
  }

  private ofGroup(selection: Selection): HTMLElement[] {
    const { level, place } = selection.place;
    const [title, note] = headerOf(level, place);
    const group = level.groupAt(place);
    const isOpen = level.open.has(place);
    const loops = group?.kind === "frame" ? this.scene.loops.filter(({ frame }) => frame === group.frame) : [];
    const ops = group ? opsIn(selection) : [];
    const call = level.callAt(place);
    return [
      heading(group?.kind === "frame" ? "Loop" : call ? "Function" : group?.kind === "run" ? "Part of the graph" : "Group", title),
      make("p", { class: "hint" }, note),
      make("div", { class: "actions" }, button(isOpen ? "Close" : "Open", "Enter does the same", this.actions.toggle),
        call && button("Show alone", "Show the function by itself", () => this.actions.showBody(call.body))),
      ...loops.map(loopSection),
      ops.length > 0 && section("Ops", ...ops.slice(0, 20).map(([op, times]) =>
        make("div", { class: "row" }, make("span", {}, shown(op, 60)), make("span", { class: "faint" }, String(times))))),
    ].filter((part): part is HTMLElement => Boolean(part));
  }

  private ofNode(node: number): HTMLElement[] {
    const { scene } = this;
    const text = (string: number) => shown(scene.text(string), 2000);
    const frame = scene.nodeFrame[node];
    const cluster = scene.nodeCluster[node];
    const body = scene.bodyOf(node);
    const why = text(scene.nodeWhy[node]);
    const weight = scene.weight(node);
    const races = scene.races.filter((race) => race.nodes.includes(node));
    return [
      heading(scene.op(node), scene.name(node)),
      make("div", { class: "actions" },
        scene.callsOf(node).length > 0 && button("Open or close", "Enter does the same", this.actions.toggle),
        button("Path to …", "Select another node: the shortest path is shown", () => this.actions.pathFrom(node))),
      ...races.map((race) => this.race(race, node)),
      facts([
        ["Source", text(scene.nodeLine[node])], ["Device", text(scene.nodeDevice[node])],
        ["In", body === 0 ? "" : shown(scene.bodies[body].name, 100)],
        ["Loop", frame >= 0 ? shown(scene.frames[frame].name, 100) : ""],
        ["Compiled", cluster >= 0 ? `in cluster ${cluster + 1}, with ${count(scene.clusters[cluster].ops, "op")}` : ""],
        ["Interpreted", cluster < 0 ? why : ""],
      ]),
      weight && section(`Values, ${shown(weight.type, 60)}`, histogram(weight)),
      this.inputs(node), this.outputs(node), this.effects(node), this.calls(node),
      ...scene.loops.filter((loop) => loop.node === node).map(loopSection),
      this.attributes(node),
    ].filter((part): part is HTMLElement => Boolean(part));
  }

  private link(node: number, label?: string): HTMLElement {
    const made = button(label ?? shown(this.scene.name(node), 120), shown(this.scene.op(node), 80), () => this.actions.select(node));
    made.className = "link";
    return made;
  }

  private race({ nodes, message }: Race, node: number): HTMLElement {
    const other = nodes.find((each) => each !== node);
    return make("p", { class: "warning" }, "Race with ", other === undefined ? "itself" : this.link(other), `: ${shown(message, 500)}`);
  }

  private inputs(node: number): HTMLElement | null {
    const { scene } = this;
    const [begin, end] = [scene.inBegin[node], scene.inBegin[node + 1]];
    if (begin === end) return null;
    return section(`Inputs, ${end - begin}`, list(end - begin, (i) => {
      const edge = begin + i;
      const kind = scene.edgeKind[edge];
      return make("div", { class: "row" }, this.link(scene.edgeFrom[edge], this.sourceOf(edge)),
        kind === EdgeKind.Data ? typeText(scene.edgeType(edge)) : make("span", { class: "faint" }, edgeKindNames[kind].split(":")[0]));
    }));
  }
  private sourceOf(edge: number): string {
    const { scene } = this;
    const port = scene.edgePort[edge];
    const name = shown(scene.name(scene.edgeFrom[edge]), 120);
    return port > 0 ? `${name}:${port}` : name;
  }

  private outputs(node: number): HTMLElement | null {
    const { scene } = this;
    const { begin, edges } = scene.outgoing();
    const uses = edges.subarray(begin[node], begin[node + 1]);
    if (uses.length === 0 && scene.outputCount(node) === 0) return null;
    const sorted = Array.from(uses).sort((a, b) => (scene.edgePort[a] >>> 0) - (scene.edgePort[b] >>> 0) || a - b);
    const parts: HTMLElement[] = [];
    for (let port = 0; port < Math.min(100, scene.outputCount(node)); ++port) {
      const users = sorted.filter((edge) => scene.edgePort[edge] === port);
      parts.push(make("div", { class: "row output" }, make("span", {}, `output ${port}`), typeText(scene.outputType(node, port))));
      parts.push(users.length === 0 ? make("div", { class: "row inner faint" }, "not used")
        : list(users.length, (i) => make("div", { class: "row inner" }, this.link(scene.edgeTo[users[i]]))));
    }
    const control = sorted.filter((edge) => scene.edgePort[edge] < 0);
    if (control.length > 0)
      parts.push(make("div", { class: "row output" }, make("span", {}, "before")), list(control.length, (i) =>
        make("div", { class: "row inner" }, this.link(scene.edgeTo[control[i]]),
          make("span", { class: "faint" }, edgeKindNames[scene.edgeKind[control[i]]].split(":")[0]))));
    return section("Outputs", ...parts);
  }

  private effects(node: number): HTMLElement | null {
    const effects = this.scene.effectsOf(node);
    if (effects.length === 0) return null;
    return section("Effects", list(effects.length, (i) => make("div", { class: "row" },
      make("span", { class: "faint" }, effects[i].writes ? "writes" : "reads"),
      make("span", {}, shown(this.scene.resources[effects[i].resource].name, 100)))));
  }

  private calls(node: number): HTMLElement | null {
    const { scene } = this;
    const calls = scene.callsOf(node);
    const callers = scene.bodyOf(node) > 0 ? scene.callersOf(scene.bodyOf(node)) : [];
    if (calls.length + callers.length === 0) return null;
    const parts = calls.map(({ body, role }): HTMLElement => {
      const open = button(shown(scene.bodies[body].name, 100), "Show the function by itself", () => this.actions.showBody(body));
      open.className = "link";
      return make("div", { class: "row" }, make("span", { class: "faint" }, shown(role, 40)), open);
    });
    if (callers.length > 0) parts.push(list(callers.length, (i) =>
      make("div", { class: "row" }, make("span", { class: "faint" }, "called by"), this.link(callers[i]))));
    return section("Calls", ...parts);
  }

  private attributes(node: number): HTMLElement | null {
    const text = this.scene.text(this.scene.nodeAttrs[node]);
    if (text === "") return null;
    const lines = text.slice(0, 200_000).split("\n");
    return section("Attributes", list(lines.length, (i) => {
      const at = lines[i].indexOf(" = ");
      return make("div", { class: "attribute" },
        make("span", {}, shown(at < 0 ? lines[i] : lines[i].slice(0, at), 200)),
        make("code", {}, at < 0 ? "" : shown(lines[i].slice(at + 3), 1500)));
    }));
  }
}

function opsIn({ place: { level, place } }: Selection): [string, number][] {
  const group = level.groupAt(place);
  if (!group || group.nodes > 300_000) return [];
  const ops = new Map<number, number>();
  const codes = [~group.id];
  for (let code = codes.pop(); code !== undefined; code = codes.pop()) {
    if (code < 0) { for (const inner of level.tree.groups[~code].children) codes.push(inner); continue; }
    const op = level.scene.nodeOp[code];
    ops.set(op, (ops.get(op) ?? 0) + 1);
  }
  return [...ops].sort((a, b) => b[1] - a[1]).map(([op, times]) => [level.scene.text(op), times]);
}

function loopSection(loop: Loop): HTMLElement {
  const texts = (title: string, lines: string[]) => (Array.isArray(lines) && lines.length > 0
    ? make("div", {}, make("h4", {}, title), make("ul", {}, ...lines.slice(0, 50).map((line) => make("li", {}, shown(line, 500))))) : null);
  return section("How the loop runs",
    make("p", {}, loop.overlaps
      ? `Up to ${loop.parallelIterations} iterations run at once.` : "Its iterations run one after the other."),
    loop.why ? make("p", {}, shown(loop.why, 1000)) : "",
    texts("What orders it", loop.orders), texts("What would help", loop.advice));
}

function heading(kind: string, name: string): HTMLElement {
  return make("header", {}, make("h2", {}, shown(kind, 100)), make("p", { class: "name", title: shown(name, 1000) }, shown(name, 400)));
}
export function section(title: string, ...content: (Node | string | null)[]): HTMLElement {
  return make("section", {}, make("h3", {}, title), ...content);
}
function facts(entries: [string, string][]): HTMLElement {
  return make("dl", { class: "facts" }, ...entries.filter(([, value]) => value !== "").flatMap(([name, value]) =>
    [make("dt", {}, name), make("dd", {}, value)]));
}
function typeText(type: string): HTMLElement { return make("span", { class: "type" }, shown(type, 120)); }

/** Rows, the first of them at once, the others in portions as the reader asks. */
export function list(length: number, row: (i: number) => HTMLElement): HTMLElement {
  const host = make("div", { class: "rows" });
  let at = 0;
  const more = button("", "", () => grow());
  more.className = "link more";
  const grow = () => {
    more.remove();
    const end = Math.min(length, at + (at === 0 ? mostRows : 500));
    for (; at < end; ++at) host.append(row(at));
    more.textContent = `${(length - at).toLocaleString("en")} more`;
    if (at < length) host.append(more);
  };
  grow();
  return host;
}
