// A level: the inside of one open group, laid out separately. Edges that cross its border pass
// through ports, one for each edge that the enclosing level draws to or from it; so lines continue
// across borders, and many edges are bundled outside.
import { bundlesOf, type Bundles } from "./bundles.js";
import { linesOf } from "./captions.js";
import { bundlesOfCall } from "./joins.js";
import { BodyTree, type Group } from "../groups/groups.js";
import type { LayoutResult, LayoutTask } from "./layout_task.js";
import { EdgeKind, type Scene } from "../scene/scene.js";
import { textWidth } from "../texts/text_width.js";

export interface ViewOptions {
  control: boolean;
  soft: boolean;
  chain: boolean;
  /** Constants, and weights that a function is given, are drawn small beside the one node that they feed. */
  constantsBeside: boolean;
  /** Whether scopes and runs make groups. */
  grouped: boolean;
}

/** The trees of a scene's bodies, made when they are needed. */
export class Trees {
  private readonly trees = new Map<string, BodyTree>();
  constructor(readonly scene: Scene) {}
  of(body: number, grouped: boolean): BodyTree {
    const key = `${body} ${grouped}`;
    let tree = this.trees.get(key);
    if (!tree) this.trees.set(key, tree = new BodyTree(this.scene, body, grouped));
    return tree;
  }
}

export const beside = { width: 58, height: 15, gap: 8, most: 6 };
export const Stub = { none: 0, atTarget: 1, atSource: 2 } as const;
/** In a level with this many boxes, an end with more edges than this has stubs. */
const stubsBegin = { boxes: 40, edges: 10 };
/** In larger levels, the width of texts is estimated. */
const mostMeasured = 3000;
const nodeHeight = 38;
const groupHeight = 46;

export class Level {
  /** Children: a node, ~group, or (in a call of several functions) the call's number. */
  readonly codes: Int32Array;
  readonly bundles: Bundles;
  readonly widths: Float32Array;
  readonly heights: Float32Array;
  /** By child: the child that it is drawn beside, or -1. */
  readonly besideOf: Int32Array;
  /** By bundle: whether only its end is drawn, because its other end has too many to follow. */
  readonly stubs: Uint8Array;
  readonly inEdges: number[] = [];
  readonly outEdges: number[] = [];
  readonly open = new Map<number, Level>();
  result: LayoutResult | null = null;
  /** Set when a child changed its size. */
  stale = true;
  /** The position at which it is drawn. */
  x = 0;
  y = 0;
  private places: Map<number, number> | null = null;
  private bundleOf: Map<number, number> | null = null;

  constructor(
    readonly key: string,
    readonly tree: BodyTree,
    /** Null for the functions of a call, side by side. */
    readonly group: Group | null,
    readonly callNode: number,
    readonly parent: Level | null,
    readonly place: number,
    readonly options: ViewOptions,
    readonly header: boolean,
  ) {
    const { scene } = tree;
    this.codes = group ? Int32Array.from(group.children)
      : Int32Array.from(scene.callsOf(callNode), (_, i) => i);
    if (parent) this.findPorts(parent);
    this.bundles = group ? bundlesOf(this) : bundlesOfCall(this);
    this.besideOf = new Int32Array(this.codes.length).fill(-1);
    if (group && options.constantsBeside) this.findConstants();
    this.stubs = this.findStubs();
    this.widths = new Float32Array(this.codes.length);
    this.heights = new Float32Array(this.codes.length);
    for (let i = 0; i < this.codes.length; ++i) this.measure(i);
  }

  get scene(): Scene { return this.tree.scene; }
  get count(): number { return this.codes.length; }

  nodeAt(place: number): number { return this.group && this.codes[place] >= 0 ? this.codes[place] : -1; }
  groupAt(place: number): Group | null {
    return this.group && this.codes[place] < 0 ? this.tree.groups[~this.codes[place]] : null;
  }
  /** Returns the function that a box of a call represents. */
  callAt(place: number): { body: number; role: string } | null {
    return this.group ? null : this.scene.callsOf(this.callNode)[place];
  }
  opens(place: number): boolean {
    const node = this.nodeAt(place);
    return node < 0 || this.scene.callsOf(node).length > 0;
  }
  childKey(place: number): string {
    const code = this.codes[place];
    return `${this.key}.${this.group ? (code < 0 ? `g${~code}` : `n${code - this.tree.first}`) : `r${code}`}`;
  }
  placeOf(code: number): number {
    this.places ??= new Map(Array.from(this.codes, (c, i) => [c, i]));
    return this.places.get(code) ?? -1;
  }
  /** The end that a node has in this level: a child's place, or a port; -1 if there is none. */
  endOf(node: number, incoming: boolean, kind: number): number {
    const code = this.group ? this.tree.childHolding(this.group, node) : null;
    if (code !== null) return this.placeOf(code);
    if (!this.parent?.group || this.parent.tree !== this.tree) return -1;
    const outside = this.parent.endOf(node, incoming, kind);
    if (outside < 0) return -1;
    const bundle = this.parent.bundleAt(incoming ? outside : this.place, incoming ? this.place : outside, kind);
    const port = (incoming ? this.inEdges : this.outEdges).indexOf(bundle);
    return port < 0 ? -1 : this.count + port + (incoming ? 0 : this.inEdges.length);
  }
  bundleAt(from: number, to: number, kind: number): number {
    if (!this.bundleOf) {
      this.bundleOf = new Map();
      const { from: sources, to: targets, kinds } = this.bundles;
      for (let i = 0; i < sources.length; ++i) this.bundleOf.set(this.bundleKey(sources[i], targets[i], kinds[i]), i);
    }
    return this.bundleOf.get(this.bundleKey(from, to, kind)) ?? -1;
  }
  bundleKey(from: number, to: number, kind: number): number {
    const ends = this.count + this.inEdges.length + this.outEdges.length;
    return (from * ends + to) * 5 + kind;
  }

  private findPorts(parent: Level) {
    parent.bundles.to.forEach((to, i) => { if (to === this.place) this.inEdges.push(i); });
    parent.bundles.from.forEach((from, i) => { if (from === this.place) this.outEdges.push(i); });
  }

  /** Returns constants and passed resources that feed only one node of this level. Edges that
   * only order them aren't drawn. */
  private findConstants() {
    const { from, to, counts, kinds } = this.bundles;
    const uses = new Int32Array(this.count);
    const user = new Int32Array(this.count).fill(-1);
    for (let i = 0; i < from.length; ++i) {
      const isGiven = from[i] >= this.count && to[i] < this.count && this.nodeAt(to[i]) >= 0 && this.isSmall(this.nodeAt(to[i]));
      if (to[i] < this.count && kinds[i] !== EdgeKind.Control && !isGiven) uses[to[i]] += 2;
      if (from[i] >= this.count) continue;
      uses[from[i]] += counts[i];
      user[from[i]] = to[i];
    }
    const taken = new Map<number, number>();
    for (let i = 0; i < this.count; ++i) {
      const node = this.nodeAt(i);
      if (node < 0 || uses[i] !== 1 || user[i] >= this.count || this.nodeAt(user[i]) < 0) continue;
      if (!this.isSmall(node) || this.opens(user[i])) continue;
      const already = taken.get(user[i]) ?? 0;
      if (already >= beside.most) continue;
      taken.set(user[i], already + 1);
      this.besideOf[i] = user[i];
    }
    // A node must not be beside one that is itself beside another.
    for (let i = 0; i < this.count; ++i)
      if (this.besideOf[i] >= 0 && this.besideOf[this.besideOf[i]] >= 0) this.besideOf[i] = -1;
  }

  private isSmall(node: number): boolean {
    const op = this.scene.op(node);
    return op === "Const" || (op === "_Arg" && this.scene.outputType(node, 0).startsWith("resource"));
  }

  private isOfRuns(): boolean {
    return this.group !== null && this.codes.every((code) => code < 0 && this.tree.groups[~code].kind === "run");
  }
  private findStubs(): Uint8Array {
    const { from, to } = this.bundles;
    const stubs = new Uint8Array(from.length);
    if (this.isOfRuns() && from.length > 2 * this.count) {
      // Runs are sequential: edges that skip runs aren't drawn.
      for (let i = 0; i < from.length; ++i)
        if (to[i] !== from[i] + 1) stubs[i] = to[i] < this.count ? Stub.atTarget : Stub.atSource;
      return stubs;
    }
    if (this.count < stubsBegin.boxes) return stubs;
    const ends = this.count + this.inEdges.length + this.outEdges.length;
    const leaving = new Uint32Array(ends);
    const coming = new Uint32Array(ends);
    from.forEach((end) => { ++leaving[end]; });
    to.forEach((end) => { ++coming[end]; });
    for (let i = 0; i < from.length; ++i)
      stubs[i] = coming[to[i]] > stubsBegin.edges ? Stub.atSource : leaving[from[i]] > stubsBegin.edges ? Stub.atTarget : Stub.none;
    return stubs;
  }

  private measure(place: number) {
    if (this.besideOf[place] >= 0) {
      this.widths[place] = beside.width;
      this.heights[place] = beside.height;
      return;
    }
    const isNode = this.nodeAt(place) >= 0;
    const opens = this.opens(place);
    const text = this.count <= mostMeasured || opens ? this.measuredWidth(place) : this.guessedWidth(place);
    this.widths[place] = Math.min(isNode ? 210 : 240, Math.max(isNode ? 72 : 110, text + (opens ? 40 : 24)));
    this.heights[place] = opens ? groupHeight : nodeHeight;
  }
  private measuredWidth(place: number): number {
    const [first, second] = linesOf(this, place);
    return Math.max(textWidth(first, "strong"), textWidth(second, "plain"));
  }
  /** Estimates from the number of bytes, without decoding the text. */
  private guessedWidth(place: number): number {
    const { scene } = this;
    const node = this.nodeAt(place);
    const label = Math.min(60, scene.textLength(scene.nodeName[node]) - this.tree.groupOf(node).prefix);
    return Math.max(scene.textLength(scene.nodeOp[node]) * 7, label * 6);
  }

  /** The task of laying it out, with the sizes of the groups that are open in it. */
  task(): LayoutTask {
    const { from, to, kinds, edges } = this.bundles;
    const kept: number[] = [];
    for (let i = 0; i < from.length; ++i) if (this.isLaidOut(i)) kept.push(i);
    const shown = this.shownPlaces();
    const index = new Int32Array(this.count).fill(-1);
    shown.forEach((place, i) => { index[place] = i; });
    const end = (at: number) => (at < this.count ? index[at] : at - this.count + shown.length);
    const stacks = this.stackWidths();
    return {
      count: shown.length,
      widths: Float32Array.from(shown, (place) => (this.open.get(place)?.result?.width ?? this.widths[place]) + stacks[place]),
      heights: Float32Array.from(shown, (place) => this.open.get(place)?.result?.height ?? this.heights[place]),
      ins: this.inEdges.length, outs: this.outEdges.length,
      from: Int32Array.from(kept, (i) => end(from[i])), to: Int32Array.from(kept, (i) => end(to[i])),
      kinds: Uint8Array.from(kept, (i) => kinds[i]),
      fromPort: Int32Array.from(kept, (i) => this.fromPortOf(i, edges[i])),
      fromAt: Float32Array.from(kept, (i) => this.portAt(from[i], i, false, stacks)),
      toAt: Float32Array.from(kept, (i) => this.portAt(to[i], i, true, stacks)),
      packs: this.group?.kind === "set",
      padding: this.header ? { top: 46, side: 18, bottom: 20 } : { top: 28, side: 28, bottom: 28 },
    };
  }

  private fromPortOf(bundle: number, edge: number): number {
    const place = this.bundles.from[bundle];
    return place < this.count && this.nodeAt(place) < 0 ? 1000 + bundle : this.scene.edgePort[edge];
  }
  isBeside(bundle: number): boolean {
    const from = this.bundles.from[bundle];
    return from < this.count && this.besideOf[from] >= 0;
  }
  /** Returns whether the layout provides the line. */
  private isLaidOut(bundle: number): boolean {
    return !this.isBeside(bundle) && !this.isHidden(bundle) && this.stubs[bundle] === Stub.none;
  }
  isHidden(bundle: number): boolean {
    const to = this.bundles.to[bundle];
    return to < this.count && this.besideOf[to] >= 0;
  }
  private shownPlaces(): number[] {
    const shown: number[] = [];
    for (let i = 0; i < this.count; ++i) if (this.besideOf[i] < 0) shown.push(i);
    return shown;
  }
  /** Returns the width of the constants at the left side of a node. */
  private stackWidths(): Float32Array {
    const beds = new Uint8Array(this.count);
    for (const user of this.besideOf) if (user >= 0) ++beds[user];
    return Float32Array.from(beds, (n) => Math.ceil(n / 2) * (beside.width + beside.gap));
  }
  private portAt(place: number, bundle: number, incoming: boolean, stacks: Float32Array): number {
    if (place >= this.count) return NaN;
    const inner = this.open.get(place);
    if (inner?.result) {
      const port = (incoming ? inner.inEdges : inner.outEdges).indexOf(bundle);
      // Edges of arguments that the function doesn't have end at its border.
      return port < 0 ? NaN : (incoming ? inner.result.inX : inner.result.outX)[port];
    }
    return stacks[place] > 0 ? stacks[place] + this.widths[place] / 2 : NaN;
  }

  /** Applies a layout to all children, including those beside others. */
  accept(result: LayoutResult) {
    const shown = this.shownPlaces();
    const stacks = this.stackWidths();
    const x = new Float32Array(this.count);
    const y = new Float32Array(this.count);
    shown.forEach((place, i) => {
      x[place] = result.x[i] + stacks[place];
      y[place] = result.y[i];
    });
    const seen = new Map<number, number>();
    this.besideOf.forEach((user, place) => {
      if (user < 0) return;
      const nth = seen.get(user) ?? 0;
      seen.set(user, nth + 1);
      x[place] = x[user] - (Math.floor(nth / 2) + 1) * (beside.width + beside.gap);
      y[place] = y[user] + 2 + (nth % 2) * (beside.height + 4);
    });
    this.result = { ...result, x, y, ...this.spreadPoints(result) };
    this.stale = false;
  }

  private spreadPoints(result: LayoutResult): { pointBegin: Uint32Array | null } {
    if (!result.pointBegin) return { pointBegin: null };
    const count = this.bundles.from.length;
    const pointBegin = new Uint32Array(count + 1);
    for (let i = 0, kept = 0; i < count; ++i)
      pointBegin[i + 1] = !this.isLaidOut(i) ? pointBegin[i] : result.pointBegin[++kept];
    return { pointBegin };
  }

  widthOf(place: number): number { return this.open.get(place)?.result?.width ?? this.widths[place]; }
  heightOf(place: number): number { return this.open.get(place)?.result?.height ?? this.heights[place]; }
}
