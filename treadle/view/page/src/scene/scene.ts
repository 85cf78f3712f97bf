// A scene: the data of a graph that the page shows. treadle/view/Scene.h describes the format. It
// is read in place, so that a graph of a million nodes takes no more memory than its bytes.

export const EdgeKind = { Data: 0, Control: 1, Back: 2, Soft: 3, Chain: 4 } as const;

export interface Body { name: string; kind: "graph" | "function" | "flat"; first: number; end: number }
export interface Frame { body: number; name: string; parent: number; parallelIterations: number }
export interface Cluster { ops: number; inputs: string[] }
export interface Resource { name: string }
export interface Race { nodes: number[]; message: string }
export interface Loop {
  node: number; frame: number; name: string; kind: string; parallelIterations: number;
  overlaps: boolean; why: string; orders: string[]; advice: string[];
}
export interface Weight {
  node: number; type: string; count: number; min: number; max: number; mean: number; zeros: number;
  nans: number; infinities: number; bins: number[];
}
export interface SignatureValue { key: string; node: number; type: string }
export interface Signature { name: string; inputs: SignatureValue[]; outputs: SignatureValue[] }
export interface Call { body: number; role: string }
export interface Effect { resource: number; writes: boolean }

export class SceneError extends Error {}

type Column = Uint8Array | Int32Array | Uint32Array;
type ColumnType = "u8" | "i32" | "u32";

const columnTypes: Record<string, ColumnType> = {
  nodeName: "u32", nodeOp: "u32", nodeDevice: "u32", nodeLine: "u32", nodeAttrs: "u32",
  nodeFrame: "i32", nodeCluster: "i32", nodeWhy: "u32", outBegin: "u32", outType: "u32",
  inBegin: "u32", edgeFrom: "u32", edgePort: "i32", edgeKind: "u8", effectNode: "u32",
  effectResource: "u32", effectWrites: "u8", callNode: "u32", callBody: "u32", callRole: "u32",
  stringEnds: "u32", stringBytes: "u8",
};

const magic = "TRDLVIEW";
const version = 1;

export class Scene {
  readonly title: string;
  readonly bodies: Body[];
  readonly frames: Frame[];
  readonly clusters: Cluster[];
  readonly resources: Resource[];
  readonly races: Race[];
  readonly loops: Loop[];
  readonly weights: Weight[];
  readonly signatures: Signature[];
  readonly notes: string[];

  readonly nodeName: Uint32Array;
  readonly nodeOp: Uint32Array;
  readonly nodeDevice: Uint32Array;
  readonly nodeLine: Uint32Array;
  readonly nodeAttrs: Uint32Array;
  readonly nodeFrame: Int32Array;
  readonly nodeCluster: Int32Array;
  readonly nodeWhy: Uint32Array;
  readonly outBegin: Uint32Array;
  readonly outType: Uint32Array;
  readonly inBegin: Uint32Array;
  readonly edgeFrom: Uint32Array;
  readonly edgePort: Int32Array;
  readonly edgeKind: Uint8Array;
  readonly stringEnds: Uint32Array;
  readonly stringBytes: Uint8Array;
  /** The node that an edge leads to. */
  readonly edgeTo: Uint32Array;
  readonly nodeCount: number;
  readonly edgeCount: number;

  private readonly calls = new Map<number, Call[]>();
  private readonly callers = new Map<number, number[]>();
  private readonly effects = new Map<number, Effect[]>();
  private readonly weightOf = new Map<number, Weight>();
  private readonly decoder = new TextDecoder();
  private readonly texts = new Map<number, string>();
  private out: { begin: Uint32Array; edges: Uint32Array } | null = null;
  private names: Map<string, number[]> | null = null;

  constructor(header: Record<string, unknown>, columns: Record<string, Column>) {
    const list = <T>(key: string): T[] => (Array.isArray(header[key]) ? (header[key] as T[]) : []);
    this.title = String(header.title ?? "");
    this.bodies = list("bodies");
    this.frames = list("frames");
    this.clusters = list("clusters");
    this.resources = list("resources");
    this.races = list("races");
    this.loops = list("loops");
    this.weights = list("weights");
    this.signatures = list("signatures");
    this.notes = list("notes");
    const u32 = (name: string) => columns[name] as Uint32Array;
    const i32 = (name: string) => columns[name] as Int32Array;
    const u8 = (name: string) => columns[name] as Uint8Array;
    this.nodeName = u32("nodeName");
    this.nodeOp = u32("nodeOp");
    this.nodeDevice = u32("nodeDevice");
    this.nodeLine = u32("nodeLine");
    this.nodeAttrs = u32("nodeAttrs");
    this.nodeFrame = i32("nodeFrame");
    this.nodeCluster = i32("nodeCluster");
    this.nodeWhy = u32("nodeWhy");
    this.outBegin = u32("outBegin");
    this.outType = u32("outType");
    this.inBegin = u32("inBegin");
    this.edgeFrom = u32("edgeFrom");
    this.edgePort = i32("edgePort");
    this.edgeKind = u8("edgeKind");
    this.stringEnds = u32("stringEnds");
    this.stringBytes = u8("stringBytes");
    this.nodeCount = this.nodeName.length;
    this.edgeCount = this.edgeFrom.length;
    checkColumns(this, columns);
    checkHeader(this);
    this.edgeTo = new Uint32Array(this.edgeCount);
    for (let node = 0; node < this.nodeCount; ++node)
      this.edgeTo.fill(node, this.inBegin[node], this.inBegin[node + 1]);
    this.indexCalls(u32("callNode"), u32("callBody"), u32("callRole"));
    this.indexEffects(u32("effectNode"), u32("effectResource"), u8("effectWrites"));
    for (const weight of this.weights) this.weightOf.set(weight.node, weight);
  }

  private indexCalls(nodes: Uint32Array, bodies: Uint32Array, roles: Uint32Array) {
    nodes.forEach((node, i) => {
      append(this.calls, node, { body: bodies[i], role: this.text(roles[i]) });
      append(this.callers, bodies[i], node);
    });
  }

  private indexEffects(nodes: Uint32Array, resources: Uint32Array, writes: Uint8Array) {
    nodes.forEach((node, i) =>
      append(this.effects, node, { resource: resources[i], writes: writes[i] !== 0 }));
  }

  text(string: number): string {
    let text = this.texts.get(string);
    if (text !== undefined) return text;
    const begin = string === 0 ? 0 : this.stringEnds[string - 1];
    text = this.decoder.decode(this.stringBytes.subarray(begin, this.stringEnds[string]));
    if (this.texts.size > 200_000) this.texts.clear();
    if (text.length < 4096) this.texts.set(string, text);
    return text;
  }
  /** The size in bytes, without decoding. */
  textLength(string: number): number {
    return this.stringEnds[string] - (string === 0 ? 0 : this.stringEnds[string - 1]);
  }
  bytesOf(string: number): Uint8Array {
    const begin = string === 0 ? 0 : this.stringEnds[string - 1];
    return this.stringBytes.subarray(begin, this.stringEnds[string]);
  }

  name(node: number): string { return this.text(this.nodeName[node]); }
  op(node: number): string { return this.text(this.nodeOp[node]); }
  outputCount(node: number): number { return this.outBegin[node + 1] - this.outBegin[node]; }
  outputType(node: number, port: number): string {
    const at = this.outBegin[node] + port;
    return port >= 0 && at < this.outBegin[node + 1] ? this.text(this.outType[at]) : "";
  }
  /** Returns the type of the value of an edge; empty for control edges. */
  edgeType(edge: number): string {
    return this.outputType(this.edgeFrom[edge], this.edgePort[edge]);
  }
  callsOf(node: number): readonly Call[] { return this.calls.get(node) ?? []; }
  callersOf(body: number): readonly number[] { return this.callers.get(body) ?? []; }
  effectsOf(node: number): readonly Effect[] { return this.effects.get(node) ?? []; }
  effectNodes(): IterableIterator<[number, Effect[]]> { return this.effects.entries(); }
  weight(node: number): Weight | undefined { return this.weightOf.get(node); }

  /** The number of the body that holds the node. */
  bodyOf(node: number): number {
    for (let body = 0; body < this.bodies.length; ++body)
      if (node >= this.bodies[body].first && node < this.bodies[body].end) return body;
    return 0;
  }

  /** The edges out of a node: `edges` from `begin[node]` to before `begin[node + 1]`. */
  outgoing(): { begin: Uint32Array; edges: Uint32Array } {
    if (this.out) return this.out;
    const begin = new Uint32Array(this.nodeCount + 1);
    for (let edge = 0; edge < this.edgeCount; ++edge) ++begin[this.edgeFrom[edge] + 1];
    for (let node = 0; node < this.nodeCount; ++node) begin[node + 1] += begin[node];
    const next = begin.slice();
    const edges = new Uint32Array(this.edgeCount);
    for (let edge = 0; edge < this.edgeCount; ++edge) edges[next[this.edgeFrom[edge]]++] = edge;
    this.out = { begin, edges };
    return this.out;
  }

  /** The node of this name: in the body, if it has one, else anywhere. Null if there is none. */
  find(name: string, body?: number): number | null {
    if (!this.names) {
      this.names = new Map();
      for (let node = 0; node < this.nodeCount; ++node) append(this.names, this.name(node), node);
    }
    const found = this.names.get(name);
    if (!found) return null;
    const within = body === undefined ? undefined : this.bodies[body];
    return found.find((node) => within && node >= within.first && node < within.end) ?? found[0];
  }
}

function append<K, V>(map: Map<K, V[]>, key: K, value: V) {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}

function damaged(what: string): never {
  throw new SceneError(`the graph can't be shown: its data is corrupted (${what})`);
}

function checkBelow(column: Column, limit: number, what: string, least = 0) {
  for (let i = 0; i < column.length; ++i)
    if (column[i] < least || column[i] >= limit) damaged(`${what} ${i} is ${column[i]}`);
}

function checkRising(column: Column, last: number, what: string) {
  for (let i = 1; i < column.length; ++i)
    if (column[i] < column[i - 1]) damaged(`${what} falls at ${i}`);
  if (column.length === 0 || column[column.length - 1] !== last) damaged(`${what} doesn't end at ${last}`);
}

function checkColumns(scene: Scene, columns: Record<string, Column>) {
  const strings = scene.stringEnds.length;
  checkRising(scene.stringEnds, scene.stringBytes.length, "stringEnds");
  const perNode = ["nodeName", "nodeOp", "nodeDevice", "nodeLine", "nodeAttrs", "nodeFrame",
    "nodeCluster", "nodeWhy"];
  for (const name of perNode)
    if (columns[name].length !== scene.nodeCount) damaged(`${name} has a wrong length`);
  for (const name of [...perNode.filter((n) => columnTypes[n] === "u32"), "outType", "callRole"])
    checkBelow(columns[name], strings, name);
  for (const [name, last] of [["outBegin", scene.outType.length], ["inBegin", scene.edgeCount]] as const) {
    if (columns[name].length !== scene.nodeCount + 1) damaged(`${name} has a wrong length`);
    checkRising(columns[name], last, name);
  }
  for (const [first, second] of [["edgeFrom", "edgePort"], ["edgeFrom", "edgeKind"],
    ["effectNode", "effectResource"], ["effectNode", "effectWrites"], ["callNode", "callBody"],
    ["callNode", "callRole"]])
    if (columns[first].length !== columns[second].length) damaged(`${second} has a wrong length`);
  for (const name of ["edgeFrom", "effectNode", "callNode"])
    checkBelow(columns[name], scene.nodeCount, name);
  checkBelow(columns.callBody, scene.bodies.length, "callBody");
  checkBelow(columns.effectResource, scene.resources.length, "effectResource");
  checkBelow(columns.edgeKind, 5, "edgeKind");
  checkBelow(scene.nodeFrame, scene.frames.length, "nodeFrame", -1);
  checkBelow(scene.nodeCluster, scene.clusters.length, "nodeCluster", -1);
}

function checkHeader(scene: Scene) {
  if (scene.bodies.length === 0) damaged("it has no body");
  for (const { first, end } of scene.bodies)
    if (!(first >= 0 && first <= end && end <= scene.nodeCount)) damaged(`a body ends at ${end}`);
  scene.frames.forEach((frame, i) => {
    // A parent that comes first isn't an ancestor of itself.
    if (!(frame.parent >= -1 && frame.parent < scene.frames.length)) damaged(`frame ${i}`);
    let at = frame.parent;
    for (let steps = 0; at >= 0; at = scene.frames[at].parent)
      if (++steps > scene.frames.length) damaged(`frame ${i} holds itself`);
  });
  const isNode = (node: number) => Number.isInteger(node) && node >= 0 && node < scene.nodeCount;
  for (const race of scene.races)
    if (!Array.isArray(race.nodes) || !race.nodes.every(isNode)) damaged("a race's nodes");
  for (const loop of scene.loops)
    if (loop.node !== -1 && !isNode(loop.node)) damaged("a loop's node");
  for (const weight of scene.weights)
    if (!isNode(weight.node)) damaged("a weight's node");
}

/** Reads a scene; throws a SceneError that says what is wrong with a corrupted one. */
export function decodeScene(bytes: Uint8Array): Scene {
  if (bytes.byteOffset % 8 !== 0) bytes = bytes.slice();
  if (bytes.length < 16 || new TextDecoder().decode(bytes.subarray(0, 8)) !== magic)
    damaged("it doesn't begin as a graph does");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const found = view.getUint32(8, true);
  if (found !== version)
    throw new SceneError(`the graph's data have version ${found}, and this page reads version ${version}`);
  const headerEnd = 16 + view.getUint32(12, true);
  if (headerEnd > bytes.length) damaged("its header is cut off");
  const header = parseHeader(bytes.subarray(16, headerEnd));
  const start = bytes.byteOffset + Math.ceil(headerEnd / 8) * 8;
  const end = bytes.byteOffset + bytes.length;
  const columns: Record<string, Column> = {};
  const described = (header.columns ?? {}) as Record<string, { type: string; begin: number; length: number }>;
  for (const [name, type] of Object.entries(columnTypes)) {
    const column = described[name];
    if (!column || column.type !== type) damaged(`it has no ${name}`);
    columns[name] = columnAt(bytes.buffer as ArrayBuffer, type, start + column.begin, column.length, end, name);
  }
  return new Scene(header, columns);
}

function parseHeader(bytes: Uint8Array): Record<string, unknown> {
  try {
    const header: unknown = JSON.parse(new TextDecoder().decode(bytes));
    if (typeof header === "object" && header !== null) return header as Record<string, unknown>;
  } catch {
    // Reported below with a better message.
  }
  return damaged("its header isn't JSON");
}

function columnAt(buffer: ArrayBuffer, type: ColumnType, begin: number, length: number, end: number,
  name: string): Column {
  const size = type === "u8" ? 1 : 4;
  if (!Number.isInteger(begin) || !Number.isInteger(length) || begin % size !== 0 || begin < 0 ||
    length < 0 || begin + length * size > end)
    damaged(`${name} is cut off`);
  if (type === "u8") return new Uint8Array(buffer, begin, length);
  return type === "i32" ? new Int32Array(buffer, begin, length) : new Uint32Array(buffer, begin, length);
}
