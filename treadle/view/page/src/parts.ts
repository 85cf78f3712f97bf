// What the parts of the page know of each other.
import type { Scene } from "./scene/scene.js";

/** What a mark at a node says; each kind has a colour of its own. */
export type Mark = "now" | "ready" | "path" | "added" | "removed" | "changed" | "race";

/** What is drawn over a graph beside the graph itself. */
export interface Decorations {
  /** 0..1 by node: heat. */
  heat?: Map<number, number>;
  /** Greyed: what was dead in a run. */
  dead?: Set<number>;
  /** Outlined strongly: what fires now, what is on a path, what was added. */
  marks?: Map<number, Mark>;
  /** A short text at a node: its value. */
  nodeTexts?: Map<number, string>;
  /** A short text at an edge, by the edge's number: a waiting token. */
  edgeTexts?: Map<number, string>;
}

/** A picture of one body of a scene: pan, zoom, open and close groups. Used by the graph tab, twice
    by the comparison, and by the stepper. */
export interface GraphView {
  showBody(body: number): void;
  /** Opens the groups around the node, brings it into sight and selects it. */
  reveal(node: number): void;
  selected(): number | null;
  /** Called with what the user selected: a node, or null. */
  onSelect(listener: (node: number | null) => void): void;
  /** Replaces the decorations that were there. */
  decorate(decorations: Decorations): void;
  fit(): void;
  /** To be called after the host changed its size. */
  resize(): void;
  destroy(): void;
}

export interface App {
  readonly scene: Scene;
  /** The second graph of a comparison. */
  readonly other: Scene | null;
  /** By name: "scene", "other", "differences", "trace", "steps". */
  readonly sections: Map<string, Uint8Array>;
  /** That of the graph tab. */
  readonly graph: GraphView;
  /** Selects a node everywhere: details panel, address, graph. */
  select(node: number | null, reveal?: boolean): void;
  openTab(name: TabName): void;
  createGraphView(host: HTMLElement, scene: Scene): GraphView;
}

export type TabName = "graph" | "time" | "steps" | "compare";

/** A tab, made when it is first opened. Each is a module with
    `export function createTab(app: App): Tab`: graph.ts, compare.ts, time.ts, steps.ts. */
export interface Tab {
  readonly element: HTMLElement;
  shown(): void;
  hidden(): void;
  /** True if it used the key. */
  key(event: KeyboardEvent): boolean;
}
