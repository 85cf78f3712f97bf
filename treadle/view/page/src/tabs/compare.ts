// Two graphs side by side: differences are marked in both, and a selection is shown in the other
// graph by name.
import { list } from "../panels/details.js";
import { button, make } from "../elements/element.js";
import type { App, GraphView, Mark, Tab } from "../parts.js";
import type { Scene } from "../scene/scene.js";
import { shown } from "../texts/shown.js";
import { count } from "../texts/texts.js";

interface Difference { kind: string; function: string; node: string; message: string }

export function createTab(app: App): Tab { return new CompareTab(app); }

/** A difference of another kind is a change. */
function markOf(kind: string): Mark { return kind === "added" || kind === "removed" ? kind : "changed"; }

class CompareTab implements Tab {
  readonly element = make("div", { class: "compare-tab" });
  private readonly views: GraphView[] = [];
  private readonly scenes: Scene[];
  private readonly differences: Difference[];
  private isLinking = false;

  constructor(private readonly app: App) {
    this.scenes = [app.scene, app.other ?? app.scene];
    this.differences = readDifferences(app.sections.get("differences"));
    this.element.append(this.side(), this.pane("Before", 0), this.pane("After", 1));
  }

  private pane(title: string, which: number): HTMLElement {
    const host = make("div", { class: "compare-host" });
    host.tabIndex = 0;
    const pane = make("section", { class: "compare-pane", label: title },
      make("h2", {}, title, make("small", {}, shown(this.scenes[which].title, 120))), host);
    // A picture needs the size of its host, which it has once the tab is shown.
    requestAnimationFrame(() => {
      const view = this.app.createGraphView(host, this.scenes[which]);
      view.showBody(0);
      view.decorate({ marks: this.marks(which) });
      view.onSelect((node) => this.link(which, node));
      this.views[which] = view;
    });
    return pane;
  }

  private marks(which: number): Map<number, Mark> {
    const marks = new Map<number, Mark>();
    for (const difference of this.differences) {
      const node = this.find(which, difference);
      if (node !== null) marks.set(node, markOf(difference.kind));
    }
    return marks;
  }
  private find(which: number, difference: Difference): number | null {
    const scene = this.scenes[which];
    const mark = markOf(difference.kind);
    if ((mark === "added" && which === 0) || (mark === "removed" && which === 1) || !difference.node) return null;
    const body = scene.bodies.findIndex(({ name }) => name === difference.function);
    const found = scene.find(difference.node, Math.max(0, body));
    // Only the message contains the old name of a renamed node.
    const before = which === 0 && found === null ? /^was '(.*)'$/s.exec(difference.message) : null;
    return before ? scene.find(before[1], Math.max(0, body)) : found;
  }

  private side(): HTMLElement {
    const { differences } = this;
    return make("aside", { class: "differences", label: "Differences" },
      make("h2", {}, differences.length === 0 ? "No differences" : count(differences.length, "difference")),
      list(differences.length, (i) => {
        const { kind, function: inside, node, message } = differences[i];
        const row = button("", "", () => this.go(differences[i]));
        row.className = `difference ${markOf(kind)}`;
        row.append(make("b", {}, shown(kind, 30)), make("span", {}, shown(node || message, 160)),
          inside ? make("small", {}, shown(inside, 80)) : "", node && message ? make("small", {}, shown(message, 300)) : "");
        return row;
      }));
  }
  private go(difference: Difference) {
    this.isLinking = true;
    for (const which of [0, 1]) {
      const node = this.find(which, difference);
      if (node !== null) this.views[which]?.reveal(node);
    }
    this.isLinking = false;
  }

  private link(which: number, node: number | null) {
    if (this.isLinking || node === null) return;
    const other = 1 - which;
    const scene = this.scenes[which];
    const body = this.scenes[other].bodies.findIndex(({ name }) => name === scene.bodies[scene.bodyOf(node)].name);
    const found = this.scenes[other].find(scene.name(node), Math.max(0, body));
    if (found !== null) this.views[other]?.reveal(found);
  }

  shown() { for (const view of this.views) view?.resize(); }
  hidden() { /* Nothing runs. */ }
  key(event: KeyboardEvent): boolean {
    if (event.key !== "f") return false;
    for (const view of this.views) view.fit();
    return true;
  }
}

function readDifferences(bytes: Uint8Array | undefined): Difference[] {
  if (!bytes) return [];
  try {
    const parsed: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return Array.isArray(parsed) ? parsed.map((d: Partial<Difference>) => ({
      kind: String(d.kind ?? "changed"), function: String(d.function ?? ""), node: String(d.node ?? ""), message: String(d.message ?? ""),
    })) : [];
  } catch {
    return [];
  }
}
