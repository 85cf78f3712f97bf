// Makes scenes for tests, in the bytes that the page reads.

export interface MadeNode { name: string; op?: string; inputs?: number[]; control?: number[]; back?: number[]; frame?: number; types?: string[] }

export interface Made { nodes: MadeNode[]; header?: Record<string, unknown>; calls?: [number, number, string][] }

/** The parts of a scene, which a test may damage before they are joined. */
export function partsOf({ nodes, header, calls = [] }: Made) {
  const strings = [""];
  const text = (t: string): number => {
    const known = strings.indexOf(t);
    return known >= 0 ? known : strings.push(t) - 1;
  };
  const outBegin = [0];
  const outType: number[] = [];
  const inBegin = [0];
  const edges: [number, number, number][] = [];
  for (const node of nodes) {
    for (const type of node.types ?? ["float32[?]"]) outType.push(text(type));
    outBegin.push(outType.length);
    for (const from of node.inputs ?? []) edges.push([from, 0, 0]);
    for (const from of node.back ?? []) edges.push([from, 0, 2]);
    for (const from of node.control ?? []) edges.push([from, -1, 1]);
    inBegin.push(edges.length);
  }
  const none = nodes.map(() => 0);
  const columns: Record<string, Uint8Array | Int32Array | Uint32Array> = {
    nodeName: Uint32Array.from(nodes, ({ name }) => text(name)), nodeOp: Uint32Array.from(nodes, ({ op }) => text(op ?? "Identity")),
    nodeDevice: Uint32Array.from(none), nodeLine: Uint32Array.from(none), nodeAttrs: Uint32Array.from(none),
    nodeFrame: Int32Array.from(nodes, ({ frame }) => frame ?? -1), nodeCluster: Int32Array.from(none, () => -1),
    nodeWhy: Uint32Array.from(none), outBegin: Uint32Array.from(outBegin), outType: Uint32Array.from(outType),
    inBegin: Uint32Array.from(inBegin), edgeFrom: Uint32Array.from(edges, ([from]) => from),
    edgePort: Int32Array.from(edges, ([, port]) => port), edgeKind: Uint8Array.from(edges, ([, , kind]) => kind),
    effectNode: new Uint32Array(0), effectResource: new Uint32Array(0), effectWrites: new Uint8Array(0),
    callNode: Uint32Array.from(calls, ([node]) => node), callBody: Uint32Array.from(calls, ([, body]) => body),
    callRole: Uint32Array.from(calls, ([, , role]) => text(role)),
  };
  const bytes = strings.map((t) => new TextEncoder().encode(t));
  let end = 0;
  columns.stringEnds = Uint32Array.from(bytes, (b) => (end += b.length));
  columns.stringBytes = Uint8Array.from(bytes.flatMap((b) => [...b]));
  const head: Record<string, unknown> = { title: "made", bodies: [{ name: "graph", kind: "graph", first: 0, end: nodes.length }], ...header };
  return { columns, header: head };
}

export function joined({ columns, header }: ReturnType<typeof partsOf>): Uint8Array {
  const described: Record<string, unknown> = {};
  let size = 0;
  for (const [name, column] of Object.entries(columns)) {
    const type = column instanceof Uint8Array ? "u8" : column instanceof Int32Array ? "i32" : "u32";
    described[name] = { type, begin: size, length: column.length };
    size += Math.ceil(column.byteLength / 8) * 8;
  }
  const head = new TextEncoder().encode(JSON.stringify({ ...header, columns: described }));
  const start = Math.ceil((16 + head.length) / 8) * 8;
  const scene = new Uint8Array(start + size);
  scene.set(new TextEncoder().encode("TRDLVIEW"));
  new DataView(scene.buffer).setUint32(8, 1, true);
  new DataView(scene.buffer).setUint32(12, head.length, true);
  scene.set(head, 16);
  for (const [name, column] of Object.entries(columns))
    scene.set(new Uint8Array(column.buffer, column.byteOffset, column.byteLength), start + (described[name] as { begin: number }).begin);
  return scene;
}

export function sceneBytes(made: Made): Uint8Array { return joined(partsOf(made)); }
