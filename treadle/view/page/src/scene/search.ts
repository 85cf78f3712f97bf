// Finds nodes by name, `op:`, `type:` and `resource:`. Names are searched as bytes and in time
// slices, so that a million of them don't block the page.
import type { Scene } from "./scene.js";

interface Term { field: "name" | "op" | "type" | "resource"; needle: Uint8Array }

/** The query, as terms that must all match. */
function termsOf(query: string): Term[] {
  return query.trim().split(/\s+/).filter(Boolean).map((word) => {
    const field = /^(op|type|dtype|resource|name):(.*)$/.exec(word);
    const name = field?.[1] === "dtype" ? "type" : field?.[1];
    const needle = new TextEncoder().encode((field ? field[2] : word).toLowerCase());
    return { field: (name ?? "name") as Term["field"], needle };
  });
}

function lower(byte: number): number { return byte >= 65 && byte <= 90 ? byte + 32 : byte; }

/** Whether bytes hold the needle, which is in lower case. */
function holds(bytes: Uint8Array, begin: number, end: number, needle: Uint8Array): boolean {
  const last = end - needle.length;
  if (needle.length === 0) return true;
  const first = needle[0];
  for (let at = begin; at <= last; ++at) {
    if (lower(bytes[at]) !== first) continue;
    let i = 1;
    while (i < needle.length && lower(bytes[at + i]) === needle[i]) ++i;
    if (i === needle.length) return true;
  }
  return false;
}

export class Matcher {
  private readonly terms: Term[];
  /** By term: 1 + whether a string matches, by string index. */
  private readonly known: Uint8Array[];
  private readonly resources: Set<number>[];

  constructor(private readonly scene: Scene, query: string) {
    this.terms = termsOf(query);
    this.known = this.terms.map(({ field }) => new Uint8Array(field === "op" || field === "type" ? scene.stringEnds.length : 0));
    this.resources = this.terms.map(({ field, needle }) => {
      const text = new TextDecoder().decode(needle);
      return new Set(field !== "resource" ? [] : scene.resources.flatMap(({ name }, i) => (name.toLowerCase().includes(text) ? [i] : [])));
    });
  }
  get isEmpty(): boolean { return this.terms.length === 0; }

  fits(node: number): boolean {
    return this.terms.every((term, i) => this.fitsTerm(node, term, i));
  }
  private fitsTerm(node: number, { field, needle }: Term, i: number): boolean {
    const { scene } = this;
    if (field === "name") return this.stringFits(scene.nodeName[node], needle);
    if (field === "op") return this.knownFits(i, scene.nodeOp[node], needle);
    if (field === "resource") return scene.effectsOf(node).some(({ resource }) => this.resources[i].has(resource));
    for (let out = scene.outBegin[node]; out < scene.outBegin[node + 1]; ++out)
      if (this.knownFits(i, scene.outType[out], needle)) return true;
    return false;
  }
  private stringFits(string: number, needle: Uint8Array): boolean {
    const { stringBytes, stringEnds } = this.scene;
    return holds(stringBytes, string === 0 ? 0 : stringEnds[string - 1], stringEnds[string], needle);
  }
  private knownFits(term: number, string: number, needle: Uint8Array): boolean {
    const known = this.known[term];
    if (known[string] === 0) known[string] = this.stringFits(string, needle) ? 2 : 1;
    return known[string] === 2;
  }
}

export interface Found { nodes: number[]; count: number; isDone: boolean }

/** Reports intermediate results, until everything was searched or the signal aborts it. */
export async function search(scene: Scene, query: string, most: number, signal: AbortSignal,
  report: (found: Found) => void): Promise<void> {
  const matcher = new Matcher(scene, query);
  const found: Found = { nodes: [], count: 0, isDone: matcher.isEmpty };
  for (let node = 0; node < scene.nodeCount && !found.isDone;) {
    const until = performance.now() + 12;
    while (node < scene.nodeCount && performance.now() < until) {
      for (const end = Math.min(scene.nodeCount, node + 2000); node < end; ++node) {
        if (!matcher.fits(node)) continue;
        ++found.count;
        if (found.nodes.length < most) found.nodes.push(node);
      }
    }
    if (node < scene.nodeCount) {
      report(found);
      await new Promise((resolve) => setTimeout(resolve));
      if (signal.aborted) return;
    }
  }
  found.isDone = true;
  report(found);
}
