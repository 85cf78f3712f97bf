// The nested groups of a body: loop frames, and the scopes of names (`a/b/c`) inside and outside of
// them. A group with one child is removed; one with thousands of children is split into runs; many
// sources that feed one node form a set.
import { cutIntoRuns } from "./runs.js";
import { EdgeKind, type Scene } from "../scene/scene.js";
import { gatherSets } from "./sets.js";

export interface Group {
  id: number;
  parent: number;
  kind: "root" | "scope" | "frame" | "run" | "set";
  /** The part of the name that the group adds to its parent's. */
  name: string;
  /** The loop frame, if the group is one. */
  frame: number;
  /** The number of bytes in its nodes' names that identify it, including the last slash. */
  prefix: number;
  /** Codes: a node, or ~group. */
  children: number[];
  /** The number of nodes in it and in its groups. */
  nodes: number;
}

const slash = 47;
const deepest = 24;
const longest = 4096;

export class BodyTree {
  readonly groups: Group[] = [];
  /** Returns the group of a node, given its position in the body. */
  readonly nodeGroup: Int32Array;
  readonly first: number;
  readonly end: number;
  /** Arguments and results in the group of their users or producers, regardless of their names. */
  private readonly moved = new Set<number>();

  constructor(readonly scene: Scene, readonly body: number, grouped = true) {
    this.first = scene.bodies[body].first;
    this.end = scene.bodies[body].end;
    this.nodeGroup = new Int32Array(this.end - this.first);
    this.add("root", -1, 0, -1);
    if (grouped) new Scopes(this).build(this.moved);
    else for (let node = this.first; node < this.end; ++node) this.root.children.push(node);
    this.collapse();
    const kept = this.count();
    if (!grouped) return;
    for (const group of kept) {
      gatherSets(this, group);
      this.cut(group);
    }
  }

  get root(): Group { return this.groups[0]; }

  add(kind: Group["kind"], parent: number, prefix: number, frame: number): Group {
    const group: Group = {
      id: this.groups.length, parent, kind, name: "", frame, prefix, children: [], nodes: 0,
    };
    this.groups.push(group);
    return group;
  }

  /** Whether it is placed with its users or its producer. */
  isMoved(node: number): boolean { return this.moved.has(node); }
  holds(node: number): boolean { return node >= this.first && node < this.end; }
  groupOf(node: number): Group { return this.groups[this.nodeGroup[node - this.first]]; }

  /** Returns the groups around a node, outermost first, without the root. */
  groupsAround(node: number): Group[] {
    const around: Group[] = [];
    for (let group = this.groupOf(node); group.id !== 0; group = this.groups[group.parent])
      around.push(group);
    return around.reverse();
  }

  /** Returns the code of the child of `group` that is or contains the node; null if the node is outside. */
  childHolding(group: Group, node: number): number | null {
    if (!this.holds(node)) return null;
    let at = this.nodeGroup[node - this.first];
    if (at === group.id) return node;
    while (at !== 0) {
      const parent = this.groups[at].parent;
      if (parent === group.id) return ~at;
      at = parent;
    }
    return null;
  }

  /** Returns the name of a group or node relative to the enclosing group. */
  nodeLabel(node: number): string {
    const name = this.scene.name(node);
    if (this.moved.has(node)) return name;
    const prefix = this.groupOf(node).prefix;
    // Prefixes count bytes, which are characters where names are ASCII, as they nearly always are.
    return name.length > prefix ? name.slice(prefix) : name.slice(name.lastIndexOf("/") + 1);
  }

  private collapse() {
    const resolved = (code: number): number => {
      while (code < 0 && this.groups[~code].kind === "scope" && this.groups[~code].children.length === 1)
        code = this.groups[~code].children[0];
      return code;
    };
    // `Greater` and its constant `Greater/y` are shown as one.
    const spread = (code: number): number[] => {
      const at = resolved(code);
      return at < 0 && this.isNodeWithConstants(this.groups[~at]) ? this.groups[~at].children : [at];
    };
    // A root that contains a single scope is redundant.
    for (let only = this.onlyScope(); only; only = this.onlyScope()) {
      this.root.prefix = only.prefix;
      this.root.children = only.children;
      only.children = [];
    }
    const visit = [this.root];
    for (let group = visit.pop(); group; group = visit.pop()) {
      if (group.children.some((code) => code < 0)) group.children = group.children.flatMap(spread);
      for (const code of group.children) {
        if (code >= 0) {
          this.nodeGroup[code - this.first] = group.id;
        } else {
          this.groups[~code].parent = group.id;
          visit.push(this.groups[~code]);
        }
      }
    }
    for (const group of this.groups) group.name = this.nameOf(group);
  }

  private isNodeWithConstants({ kind, children }: Group): boolean {
    if (kind !== "scope" || children.length > 4) return false;
    let others = 0;
    for (const code of children) if (code < 0 || (this.scene.op(code) !== "Const" && !this.moved.has(code))) ++others;
    return others === 1;
  }

  private onlyScope(): Group | null {
    const code = this.root.children.length === 1 ? this.root.children[0] : 0;
    return code < 0 && this.groups[~code].kind === "scope" ? this.groups[~code] : null;
  }

  private nameOf(group: Group): string {
    if (group.kind === "frame") return this.scene.frames[group.frame].name;
    if (group.kind !== "scope" || group.nodes === 0 && group.children.length === 0) return "";
    // A node that was moved has another name than its group.
    const named = (code: number): boolean => (code < 0 ? this.groups[~code].children.length > 0 : !this.moved.has(code));
    let code = ~group.id;
    while (code < 0) {
      const next = this.groups[~code].children.find(named);
      if (next === undefined) return "";
      code = next;
    }
    const outer = this.groups[group.parent].prefix;
    const bytes = this.scene.bytesOf(this.scene.nodeName[code]);
    const end = Math.min(bytes.length, group.prefix);
    return new TextDecoder().decode(bytes.subarray(outer, end)).replace(/\/$/, "");
  }

  /** Counts nodes, and collects the remaining groups, inner ones first. */
  private count(): Group[] {
    const order: Group[] = [this.root];
    for (let i = 0; i < order.length; ++i)
      for (const code of order[i].children) if (code < 0) order.push(this.groups[~code]);
    for (const group of order.reverse())
      group.nodes = group.children.reduce((sum, code) => sum + (code < 0 ? this.groups[~code].nodes : 1), 0);
    return order;
  }

  /** Returns the edges between the children of a group, by position. */
  edgesBetween(group: Group): { from: Int32Array; to: Int32Array } {
    const { scene } = this;
    const place = new Map<number, number>();
    group.children.forEach((code, i) => { if (code < 0) place.set(code, i); });
    const nodePlace = new Int32Array(this.end - this.first).fill(-1);
    group.children.forEach((code, i) => { if (code >= 0) nodePlace[code - this.first] = i; });
    const placeOf = (node: number): number => {
      if (!this.holds(node)) return -1;
      if (nodePlace[node - this.first] >= 0) return nodePlace[node - this.first];
      const code = this.childHolding(group, node);
      return code === null ? -1 : place.get(code) ?? -1;
    };
    const from: number[] = [];
    const to: number[] = [];
    for (let edge = scene.inBegin[this.first]; edge < scene.inBegin[this.end]; ++edge) {
      if (scene.edgeKind[edge] === EdgeKind.Back) continue;
      const target = placeOf(scene.edgeTo[edge]);
      if (target < 0) continue;
      const source = placeOf(scene.edgeFrom[edge]);
      if (source < 0 || source === target) continue;
      from.push(source);
      to.push(target);
    }
    return { from: Int32Array.from(from), to: Int32Array.from(to) };
  }

  private cut(group: Group) {
    if (group.children.length <= 1000) return;
    const { from, to } = this.edgesBetween(group);
    const runs = cutIntoRuns(group.children.length, from, to, 48);
    const children = group.children;
    const make = (parent: Group, run: typeof runs, names: string): number[] =>
      run.map((part, i) => {
        const made = this.add("run", parent.id, group.prefix, -1);
        made.name = `${names}${i + 1}`;
        made.children = part.parts
          ? make(made, part.parts, `${names}${i + 1}.`)
          : part.members.map((member) => this.move(children[member], made));
        made.nodes = made.children.reduce((sum, code) => sum + (code < 0 ? this.groups[~code].nodes : 1), 0);
        return ~made.id;
      });
    group.children = make(group, runs, "part ");
  }

  private move(code: number, group: Group): number {
    if (code < 0) this.groups[~code].parent = group.id;
    else this.nodeGroup[code - this.first] = group.id;
    return code;
  }
}

/** Makes the groups of a tree from frames and names, reading the names' bytes. */
class Scopes {
  private readonly byKey = new Map<number, number>();
  private readonly frameGroup = new Map<number, Group>();
  private readonly attached: boolean[] = [true];

  constructor(private readonly tree: BodyTree) {}

  build(moved: Set<number>) {
    const { scene, first, end } = this.tree;
    this.makeFrames();
    for (let node = first; node < end; ++node) {
      const region = this.regionOf(node);
      const scope = this.scopeOf(region, scene.bytesOf(scene.nodeName[node]));
      this.tree.nodeGroup[node - first] = scope;
    }
    // `dense` next to a scope `dense/...` belongs to it, because the scope is named after it.
    for (let node = first; node < end; ++node) {
      const whole = this.keyOf(this.regionOf(node), scene.bytesOf(scene.nodeName[node]));
      const scope = whole === null ? undefined : this.byKey.get(whole);
      if (scope !== undefined) this.tree.nodeGroup[node - first] = scope;
    }
    this.moveArguments(moved);
    for (let node = first; node < end; ++node) {
      const group = this.tree.nodeGroup[node - first];
      this.attach(group);
      this.tree.groups[group].children.push(node);
    }
  }

  /** Moves an argument with a resource, such as a weight, that feeds one node to the group of that node,
      and likewise control results. Otherwise their lines would cover the whole function. */
  private moveArguments(moved: Set<number>) {
    const { scene, first, end, nodeGroup } = this.tree;
    if (scene.bodies[this.tree.body].kind !== "function") return;
    for (let node = first; node < end; ++node) {
      const to = this.onlyUserOf(node) ?? this.onlySourceOf(node);
      if (to === null || !this.tree.holds(to) || nodeGroup[to - first] === nodeGroup[node - first]) continue;
      nodeGroup[node - first] = nodeGroup[to - first];
      moved.add(node);
    }
  }
  private onlyUserOf(node: number): number | null {
    const { scene } = this.tree;
    if (scene.op(node) !== "_Arg" || !scene.outputType(node, 0).startsWith("resource")) return null;
    const { begin, edges } = scene.outgoing();
    return begin[node + 1] - begin[node] === 1 ? scene.edgeTo[edges[begin[node]]] : null;
  }
  private onlySourceOf(node: number): number | null {
    const { scene } = this.tree;
    const [first, end] = [scene.inBegin[node], scene.inBegin[node + 1]];
    return end - first === 1 && scene.op(node) === "_ControlResult" ? scene.edgeFrom[first] : null;
  }

  /** Attaches a group to its parent at its first node, so that children are in the order of the graph. */
  private attach(id: number) {
    while (!this.attached[id]) {
      this.attached[id] = true;
      const { parent } = this.tree.groups[id];
      this.tree.groups[parent].children.push(~id);
      id = parent;
    }
  }

  private regionOf(node: number): Group {
    return this.frameGroup.get(this.tree.scene.nodeFrame[node]) ?? this.tree.root;
  }

  private makeFrames() {
    const { scene, first, end } = this.tree;
    const prefixes = new Map<number, Uint8Array>();
    for (let node = first; node < end; ++node)
      for (let frame = scene.nodeFrame[node]; frame >= 0; frame = scene.frames[frame].parent)
        prefixes.set(frame, commonScope(prefixes.get(frame), scene.bytesOf(scene.nodeName[node])));
    const make = (frame: number): Group => {
      const made = this.frameGroup.get(frame);
      if (made) return made;
      const { parent } = scene.frames[frame];
      const region = parent >= 0 && prefixes.has(parent) ? make(parent) : this.tree.root;
      const prefix = prefixes.get(frame) as Uint8Array;
      const group = this.tree.add("frame", this.scopeOf(region, prefix), prefix.length, frame);
      this.frameGroup.set(frame, group);
      return group;
    };
    for (const frame of prefixes.keys()) make(frame);
  }

  /** Returns the group of the scope that a name begins with, creating it if necessary. */
  private scopeOf(region: Group, name: Uint8Array): number {
    let scope = region.id;
    let depth = 0;
    let low = region.id + 1;
    let high = 0x9e3779b1 ^ region.id;
    const end = Math.min(name.length, longest);
    for (let i = Math.min(region.prefix, end); i < end; ++i) {
      const byte = name[i];
      if (byte === slash && i > region.prefix) {
        if (++depth > deepest) break;
        scope = this.scopeAt(keyOf(low, high), scope, i + 1);
      }
      low = Math.imul(low ^ byte, 0x01000193);
      high = Math.imul(high ^ byte, 0x85ebca6b) + 1;
    }
    return scope;
  }

  private scopeAt(key: number, parent: number, prefix: number): number {
    const known = this.byKey.get(key);
    if (known !== undefined) return known;
    const { id } = this.tree.add("scope", parent, prefix, -1);
    this.byKey.set(key, id);
    return id;
  }

  private keyOf(region: Group, name: Uint8Array): number | null {
    if (name.length > longest) return null;
    let low = region.id + 1;
    let high = 0x9e3779b1 ^ region.id;
    for (let i = Math.min(region.prefix, name.length); i < name.length; ++i) {
      low = Math.imul(low ^ name[i], 0x01000193);
      high = Math.imul(high ^ name[i], 0x85ebca6b) + 1;
    }
    return keyOf(low, high);
  }
}

/** 53 bits of two hashes: two scopes of one key would only be drawn as one. */
function keyOf(low: number, high: number): number {
  return (low >>> 0) * 0x200000 + ((high >>> 0) & 0x1fffff);
}

function commonScope(known: Uint8Array | undefined, name: Uint8Array): Uint8Array {
  const limit = Math.min(known?.length ?? longest, name.length, longest);
  let end = 0;
  for (let i = 0; i < limit && (!known || known[i] === name[i]); ++i) if (name[i] === slash) end = i + 1;
  return name.subarray(0, end);
}
