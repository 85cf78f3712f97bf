// Lays groups out, in workers: ELK where a group is small enough for it, our own placement beyond.
import ELK, { type ELK as Elk, type ElkExtendedEdge, type ElkNode, type ElkPort } from "elkjs/lib/elk-api.js";
import { fold } from "./fold.js";
import type { LayoutResult, LayoutTask } from "./layout_task.js";
import { layersOf } from "./place.js";
import { placeTask } from "./place_task.js";
import { EdgeKind } from "../scene/scene.js";

/** Limits for ELK, which takes about a second for this many boxes and edges, and superlinear time for
    more. The cost depends on boxes, and on the layers that edges cross. */
const mostForElk = { boxes: 600, edges: 1500, cost: 1600 };
/** How often ELK tries to cross fewer edges, by cost. */
const thoroughness = (cost: number): number => (cost < 150 ? 7 : cost < 400 ? 3 : 1);

function costOf({ count, from, to, kinds }: LayoutTask): number {
  const inner = Array.from(from, (_, i) => i).filter((i) => from[i] < count && to[i] < count && kinds[i] !== EdgeKind.Back);
  const layer = layersOf(count, Int32Array.from(inner, (i) => from[i]), Int32Array.from(inner, (i) => to[i]));
  let deepest = 0;
  for (const l of layer) deepest = Math.max(deepest, l);
  const at = (end: number, port: number) => (end < count ? layer[end] : port);
  return from.reduce((cost, end, i) => cost + Math.max(0, Math.abs(at(to[i], deepest + 1) - at(end, -1)) - 1), count);
}

export class Layouts {
  private elk: Elk | null = null;
  private placing: Promise<Worker | null> | null = null;
  private starting: Promise<Elk | null> | null = null;
  private readonly waiting = new Map<number, { task: LayoutTask; resolve: (result: LayoutResult) => void }>();
  private next = 0;

  /** Starting ELK takes longer than most layouts. */
  start() { this.starting ??= startElk(); }

  async layout(task: LayoutTask): Promise<LayoutResult> {
    if (!task.packs && task.count <= mostForElk.boxes && task.from.length <= mostForElk.edges) {
      const cost = costOf(task);
      const result = cost > mostForElk.cost ? null : await this.byElk(task, cost);
      if (result) return result;
    }
    return this.byPlacement(task);
  }

  private async byElk(task: LayoutTask, cost: number): Promise<LayoutResult | null> {
    this.starting ??= startElk();
    this.elk = await this.starting;
    if (!this.elk) return null;
    try {
      const laid = await this.elk.layout(toElk(task, cost));
      return fold(task, fromElk(task, (laid.children as ElkNode[])[0]));
    } catch {
      // ELK refuses a few graphs; the placement of our own takes all of them.
      return null;
    }
  }

  private answer(id: number, result: LayoutResult) {
    this.waiting.get(id)?.resolve(result);
    this.waiting.delete(id);
  }
  private async byPlacement(task: LayoutTask): Promise<LayoutResult> {
    if (task.count < 2000) return placeTask(task);
    this.placing ??= startWorker("treadle-placement").then((worker) => {
      worker?.addEventListener("message", ({ data }) => this.answer(data.id, data.result));
      // A worker that the browser forbids says so late: what it was asked is done here then.
      worker?.addEventListener("error", () => {
        this.placing = Promise.resolve(null);
        for (const [id, { task }] of this.waiting) this.answer(id, placeTask(task));
      });
      return worker;
    });
    const worker = await this.placing;
    if (!worker) return placeTask(task);
    const id = this.next++;
    return new Promise((resolve) => {
      this.waiting.set(id, { task, resolve });
      worker.postMessage({ id, task });
    });
  }
}

async function startElk(): Promise<Elk | null> {
  const worker = await startWorker("treadle-elk");
  if (!worker) return null;
  const elk = new ELK({ workerFactory: () => worker });
  // The first layout never comes if workers are forbidden.
  const failed = new Promise<null>((resolve) => {
    worker.addEventListener("error", () => resolve(null));
    setTimeout(() => resolve(null), longestStart);
  });
  const first = elk.layout(toElk(smallTask(), 100)).then(() => elk, () => null);
  return Promise.race([first, failed]);
}

const longestStart = 20_000;

function smallTask(): LayoutTask {
  const count = 2;
  const free = new Float32Array(count).fill(NaN);
  return {
    count, widths: new Float32Array(count).fill(80), heights: new Float32Array(count).fill(38), ins: 1, outs: 0,
    from: Int32Array.from(free, (_, i) => (i === 0 ? count : 0)), to: Int32Array.from(free, (_, i) => i),
    kinds: new Uint8Array(count), fromPort: new Int32Array(count), fromAt: free, toAt: free, packs: false,
    padding: { top: 40, side: 20, bottom: 20 },
  };
}

/** A worker from the text that the page holds, compressed. Null where the browser has no workers. */
async function startWorker(id: string): Promise<Worker | null> {
  try {
    const packed = document.getElementById(id)?.textContent ?? "";
    const bytes = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
    const script = new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")));
    const url = URL.createObjectURL(new Blob([await script.arrayBuffer()], { type: "text/javascript" }));
    return new Worker(url);
  } catch {
    return null;
  }
}

const options = {
  "elk.algorithm": "layered",
  "elk.direction": "DOWN",
  "elk.edgeRouting": "ORTHOGONAL",
  "elk.layered.spacing.nodeNodeBetweenLayers": "30",
  "elk.layered.spacing.edgeNodeBetweenLayers": "12",
  "elk.layered.spacing.edgeEdgeBetweenLayers": "9",
  "elk.spacing.nodeNode": "20",
  "elk.spacing.edgeNode": "14",
  "elk.spacing.edgeEdge": "9",
  "elk.spacing.portPort": "10",
  "elk.layered.nodePlacement.bk.fixedAlignment": "BALANCED",
  "elk.portConstraints": "FIXED_SIDE",
};

function toElk(task: LayoutTask, cost: number): ElkNode {
  const { count, padding } = task;
  const ports: ElkPort[][] = Array.from({ length: count }, () => []);
  const made = new Set<string>();
  const fixed = new Set<number>();
  const port = (box: number, id: string, side: "NORTH" | "SOUTH", at: number): string => {
    if (made.has(id)) return id;
    made.add(id);
    const one: ElkPort = { id, width: 0, height: 0, layoutOptions: { "elk.port.side": side } };
    if (!Number.isNaN(at)) {
      fixed.add(box);
      one.x = at;
      one.y = side === "NORTH" ? 0 : task.heights[box];
    }
    ports[box].push(one);
    return id;
  };
  const edges: ElkExtendedEdge[] = Array.from(task.from, (from, edge) => {
    const to = task.to[edge];
    const source = from < count ? port(from, sourcePort(task, edge), "SOUTH", task.fromAt[edge]) : `p${from}`;
    const target = to < count ? port(to, `${to}i${edge}`, "NORTH", task.toAt[edge]) : `p${to}`;
    const forwards = task.kinds[edge] !== EdgeKind.Back;
    return {
      id: `e${edge}`, sources: [source], targets: [target],
      layoutOptions: { "elk.layered.priority.direction": forwards ? "10" : "0" },
    };
  });
  const outer: ElkPort[] = Array.from({ length: task.ins + task.outs }, (_, i) => ({
    id: `p${count + i}`, width: 0, height: 0,
    layoutOptions: { "elk.port.side": i < task.ins ? "NORTH" : "SOUTH" },
  }));
  const children: ElkNode[] = ports.map((own, i) => ({
    id: `n${i}`, width: task.widths[i], height: task.heights[i], ports: own,
    layoutOptions: { "elk.portConstraints": fixed.has(i) ? "FIXED_POS" : "FIXED_SIDE" },
  }));
  const inside: ElkNode = {
    id: "inside", children, edges, ports: outer,
    layoutOptions: {
      ...options,
      "elk.layered.thoroughness": String(thoroughness(cost)),
      "elk.padding": `[top=${padding.top},left=${padding.side},bottom=${padding.bottom},right=${padding.side}]`,
    },
  };
  // ELK knows ports of a graph only where that graph is a node of another.
  return { id: "root", layoutOptions: { "elk.algorithm": "layered" }, children: [inside] };
}

function sourcePort(task: LayoutTask, edge: number): string {
  const from = task.from[edge];
  return Number.isNaN(task.fromAt[edge]) ? `${from}o${task.fromPort[edge]}` : `${from}f${edge}`;
}

function fromElk(task: LayoutTask, laid: ElkNode): LayoutResult {
  const { count, ins, outs } = task;
  const children = laid.children ?? [];
  const edges = laid.edges ?? [];
  const points: number[] = [];
  const pointBegin = new Uint32Array(edges.length + 1);
  edges.forEach((edge, i) => {
    for (const { startPoint, bendPoints, endPoint } of edge.sections ?? [])
      for (const { x, y } of [startPoint, ...(bendPoints ?? []), endPoint]) points.push(x, y);
    pointBegin[i + 1] = points.length / 2;
  });
  const outer = laid.ports ?? [];
  const portX = (at: number) => outer[at]?.x ?? 0;
  return {
    x: Float32Array.from({ length: count }, (_, i) => children[i].x ?? 0),
    y: Float32Array.from({ length: count }, (_, i) => children[i].y ?? 0),
    width: laid.width ?? 0, height: laid.height ?? 0,
    inX: Float32Array.from({ length: ins }, (_, i) => portX(i)),
    outX: Float32Array.from({ length: outs }, (_, i) => portX(ins + i)),
    pointBegin, points: Float32Array.from(points),
  };
}
