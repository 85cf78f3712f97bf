// The open groups of a body, and the positions of all boxes: levels, laid out from the inside
// outwards.
import type { Layouts } from "./layout.js";
import { Level, type Trees, type ViewOptions } from "./levels.js";
import { placeTask } from "./place_task.js";
import type { Scene } from "../scene/scene.js";

/** Maximum number of boxes that the first picture opens. */
const firstBoxes = 80;
/** A group that contains nearly all nodes is opened up to this number. */
const mostOfOne = 260;
const deepestCall = 8;

export interface Place { level: Level; place: number }

export class Picture {
  root: Level;
  private readonly opened = new Set<string>();

  constructor(readonly scene: Scene, readonly body: number, private readonly trees: Trees,
    readonly options: ViewOptions, private readonly layouts: Layouts, open: Iterable<string> | null) {
    const tree = trees.of(body, options.grouped);
    this.root = new Level("", tree, tree.root, -1, null, -1, options, false);
    if (open) {
      for (const key of open) this.opened.add(key);
      this.reopen(this.root);
    } else {
      this.openFirst();
    }
  }

  openKeys(): string[] { return [...this.opened]; }

  /** Opens groups level by level, small ones first, until the picture is full. */
  private openFirst() {
    let boxes = this.root.count;
    let level: Level[] = [this.root];
    while (level.length > 0) {
      const candidates: { at: Level; place: number; size: number }[] = [];
      for (const at of level)
        for (let place = 0; place < at.count && at.count <= 2000; ++place) {
          const size = this.sizeInside(at, place);
          if (size > 0) candidates.push({ at, place, size });
        }
      candidates.sort((a, b) => a.size - b.size);
      level = [];
      for (const { at, place, size } of candidates) {
        const most = this.isMostOf(at, place) ? mostOfOne : firstBoxes;
        if (boxes + size > most) continue;
        boxes += size;
        const inner = this.open(at, place);
        if (inner) level.push(inner);
      }
    }
  }

  /** Returns whether one group contains nearly all nodes, so that it would be useless when closed. */
  private isMostOf(at: Level, place: number): boolean {
    const group = at.groupAt(place);
    const call = at.callAt(place) ?? this.scene.callsOf(Math.max(0, at.nodeAt(place)))[0];
    if (call && !group) {
      const { first, end } = this.scene.bodies[call.body];
      return end - first > 0.5 * this.scene.nodeCount;
    }
    if (!group || group.kind === "set") return false;
    return group.nodes > 0.6 * (at.group?.nodes ?? Infinity);
  }

  private sizeInside(at: Level, place: number): number {
    const group = at.groupAt(place);
    // Sets stay closed, unless everything can be shown.
    if (group) return group.kind === "set" && this.scene.nodeCount > firstBoxes ? 0 : group.children.length;
    const call = at.callAt(place);
    if (call && isAround(at, call.body)) return 0;
    if (call) return this.trees.of(call.body, at.options.grouped).root.children.length || 1;
    const calls = this.scene.callsOf(at.nodeAt(place));
    if (calls.length === 0 || depthOf(at) > 3) return 0;
    if (calls.length > 1) return calls.length;
    // A function that calls itself opens on demand.
    if (calls[0].body === this.body || isAround(at, calls[0].body)) return 0;
    return this.trees.of(calls[0].body, at.options.grouped).root.children.length || 1;
  }

  /** Opens the box with this key. Returns null if it has no contents. */
  open(at: Level, place: number): Level | null {
    const known = at.open.get(place);
    if (known) return known;
    const inner = this.makeInner(at, place);
    if (!inner) return null;
    at.open.set(place, inner);
    this.opened.add(inner.key);
    markStale(at);
    return inner;
  }

  close(at: Level, place: number) {
    const inner = at.open.get(place);
    if (!inner) return;
    at.open.delete(place);
    for (const key of [...this.opened])
      if (key === inner.key || key.startsWith(`${inner.key}.`)) this.opened.delete(key);
    markStale(at);
  }

  private makeInner(at: Level, place: number): Level | null {
    const key = at.childKey(place);
    const { options } = at;
    const group = at.groupAt(place);
    if (group) return new Level(key, at.tree, group, -1, at, place, options, true);
    const call = at.callAt(place);
    const node = at.nodeAt(place);
    const calls = call ? [call] : this.scene.callsOf(node);
    if (calls.length === 0 || depthOf(at) > deepestCall * 4) return null;
    if (calls.length > 1) return new Level(key, at.tree, null, node, at, place, options, true);
    const tree = this.trees.of(calls[0].body, options.grouped);
    return new Level(key, tree, tree.root, node, at, place, options, true);
  }

  private reopen(at: Level) {
    if (![...this.opened].some((key) => key.startsWith(`${at.key}.`))) return;
    for (let place = 0; place < at.count; ++place) {
      if (!at.opens(place) || !this.opened.has(at.childKey(place))) continue;
      const inner = this.makeInner(at, place);
      if (!inner) continue;
      at.open.set(place, inner);
      this.reopen(inner);
    }
  }

  /** Opens the groups around a node and returns its position. Null if the body doesn't contain it. */
  async unfold(node: number): Promise<Place | null> {
    const shown = this.find(node);
    const start = shown?.level.tree.holds(node) ? shown.level : this.holding(node);
    if (!start) return null;
    let level = start;
    for (;;) {
      const code = level.tree.childHolding(level.group as NonNullable<Level["group"]>, node);
      if (code === null) return null;
      const place = level.placeOf(code);
      if (code >= 0) {
        await this.layout();
        return { level, place };
      }
      const inner = this.open(level, place);
      if (!inner) return null;
      level = inner;
    }
  }

  /** The outermost open level of the node's body. */
  private holding(node: number): Level | null {
    const levels = [this.root];
    for (let level = levels.shift(); level; level = levels.shift()) {
      if (level.group && level.tree.holds(node) && level.group.id === 0) return level;
      levels.push(...level.open.values());
    }
    return null;
  }

  /** Returns the box of a node, or of the closed group around it. */
  find(node: number): Place | null {
    let level = this.holding(node);
    while (level?.group) {
      const code: number | null = level.tree.childHolding(level.group, node);
      if (code === null) return null;
      const place = level.placeOf(code);
      const inner = code < 0 ? level.open.get(place) : undefined;
      if (!inner) return { level, place };
      level = inner;
    }
    return null;
  }

  /** Lays out changed levels from the inside outwards, and returns all positions. */
  async layout(): Promise<void> {
    await this.layoutLevel(this.root);
    this.setOrigins(this.root, 0, 0);
  }

  /** Returns whether a rough layout takes negligible time. */
  canBeRough(): boolean { return this.levels().every((level) => level.count <= 2000); }

  /** Returns a rough layout of parts without a layout; `layout` replaces it. */
  layoutRoughly() {
    for (const level of this.levels().reverse()) {
      if (!level.stale) continue;
      level.accept(placeTask(level.task()));
      level.stale = true;
    }
    this.setOrigins(this.root, 0, 0);
  }

  private async layoutLevel(level: Level): Promise<void> {
    await Promise.all([...level.open.values()].map((inner) => this.layoutLevel(inner)));
    if (level.stale) level.accept(await this.layouts.layout(level.task()));
  }

  private setOrigins(level: Level, x: number, y: number) {
    level.x = x;
    level.y = y;
    const { result } = level;
    if (!result) return;
    for (const [place, inner] of level.open) this.setOrigins(inner, x + result.x[place], y + result.y[place]);
  }

  /** All levels, outer ones first. */
  levels(): Level[] {
    const levels = [this.root];
    for (let i = 0; i < levels.length; ++i) levels.push(...levels[i].open.values());
    return levels;
  }
}

function markStale(level: Level) {
  for (let at: Level | null = level; at; at = at.parent) at.stale = true;
}

/** Returns the number of enclosing levels. */
function depthOf(level: Level): number {
  let depth = 0;
  for (let at = level.parent; at; at = at.parent) ++depth;
  return depth;
}

function isAround(level: Level, body: number): boolean {
  for (let at: Level | null = level; at; at = at.parent) if (at.tree.body === body) return true;
  return false;
}
