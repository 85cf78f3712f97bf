// The interfaces between the parts of the page.
import type { Scene } from "./scene/scene.js";

/** The kind of a mark at a node, which determines its color. */
export type Mark = "now" | "ready" | "path" | "added" | "removed" | "changed" | "race";

/** Overlays of a graph. */
export interface Decorations {
  /** 0..1 by node: heat. */
  heat?: Map<number, number>;
  /** Greyed: nodes that were dead in a run. */
  dead?: Set<number>;
  /** Strongly outlined: nodes that fire, are on a path, or were added. */
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
  /** Called with the node that the user selected, or null. */
  onSelect(listener: (node: number | null) => void): void;
  /** Replaces the existing decorations. */
  decorate(decorations: Decorations): void;
  fit(): void;
  /** Call this after the size of the host changed. */
  resize(): void;
  destroy(): void;
}

export interface App {
  readonly scene: Scene;
  /** The second graph of a comparison. */
  readonly other: Scene | null;
  /** By name: "scene", "other", "differences", "trace", "steps". */
  readonly sections: Map<string, Uint8Array>;
  /** The graph of the graph tab. */
  readonly graph: GraphView;
  /** Selects a node everywhere: details panel, address, graph. */
  select(node: number | null, reveal?: boolean): void;
  openTab(name: TabName): void;
  createGraphView(host: HTMLElement, scene: Scene): GraphView;
}

export type TabName = "graph" | "time" | "steps" | "compare";

/** A tab, which is created when it is first opened. Each is a module with
    `export function createTab(app: App): Tab`: graph.ts, compare.ts, time.ts, steps.ts. */
export interface Tab {
  readonly element: HTMLElement;
  shown(): void;
  hidden(): void;
  /** Returns true if it handled the key. */
  key(event: KeyboardEvent): boolean;
}
