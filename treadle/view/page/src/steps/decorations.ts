// Decorations of the graph at a point of a run: values at nodes, tokens at edges.
import type { Decorations, Mark } from "../parts.js";
import { short } from "../texts/texts.js";
import { valueOf } from "./explain.js";
import type { Machine } from "./machine.js";
import { iterationText, type Firing } from "./run.js";
import { isOp, tokenIteration, type Token, type Wiring } from "./tokens.js";

export class Decorator {
  /** By node: the indices of its firings. */
  private readonly firingsOf = new Map<number, number[]>();

  constructor(
    private readonly machine: Machine,
    private readonly wiring: Wiring,
  ) {
    machine.run.firings.forEach((firing, number) => {
      const list = this.firingsOf.get(firing.node);
      if (list) list.push(number);
      else this.firingsOf.set(firing.node, [number]);
    });
  }

  firings(node: number): readonly number[] {
    return this.firingsOf.get(node) ?? [];
  }

  decorations(): Decorations {
    const { machine } = this, { firings } = machine.run;
    const marks = new Map<number, Mark>(), nodeTexts = new Map<number, string>(), dead = new Set<number>();
    for (const number of machine.ready) marks.set(firings[number].node, "ready");
    for (const [node, numbers] of this.firingsOf) {
      const last = lastBefore(numbers, machine.at);
      if (last < 0) continue;
      const firing = firings[last];
      nodeTexts.set(node, nodeText(this.wiring.op(node), firing));
      if (firing.dead) dead.add(node);
    }
    if (machine.current) marks.set(machine.current.node, "now");
    return { marks, nodeTexts, dead, edgeTexts: this.edgeTexts() };
  }

  private edgeTexts(): Map<number, string> {
    const byEdge = new Map<number, Token[]>(), out = new Map<number, string>();
    for (const token of this.machine.waiting) {
      const list = byEdge.get(token.edge);
      if (list) list.push(token);
      else byEdge.set(token.edge, [token]);
    }
    for (const [edge, tokens] of byEdge) {
      tokens.sort((a, b) => a.sent - b.sent);
      const isControl = this.wiring.port(edge) < 0;
      const texts = tokens.slice(0, 2).map((token) => tokenText(token, isControl));
      out.set(edge, texts.join(", ") + (tokens.length > 2 ? ` and ${tokens.length - 2} more` : ""));
    }
    return out;
  }
}

function tokenText(token: Token, isControl: boolean): string {
  const value = token.dead ? "dead" : isControl ? "done" : short(valueOf({ dead: false, text: token.text }), 16);
  const iteration = tokenIteration(token);
  return iteration ? `${value} ${iteration}` : value;
}

/** Returns the last of ascending numbers below `at`, or -1. */
function lastBefore(numbers: readonly number[], at: number): number {
  let first = 0, end = numbers.length;
  while (first < end) {
    const middle = (first + end) >>> 1;
    if (numbers[middle] < at) first = middle + 1;
    else end = middle;
  }
  return first ? numbers[first - 1] : -1;
}

/** Returns the last result of a node, with its iteration. */
function nodeText(op: string, firing: Firing): string {
  const iteration = iterationText(firing.tag), behind = iteration && ` ${iteration}`;
  if (firing.error !== undefined) return "failed" + behind;
  if (firing.dead) return "dead" + behind;
  return short(outputText(op, firing), 24) + behind;
}

export function outputText(op: string, firing: Firing): string {
  const { outputs } = firing;
  if (firing.dead) return "dead";
  if (outputs.length === 0) return "done";
  if (isOp(op, "Switch")) {
    const taken = outputs[1]?.dead ? 0 : 1;
    return `${valueOf(outputs[taken])} by ${taken}`;
  }
  // The second result of a Merge is only the index of the input.
  if (outputs.length === 1 || isOp(op, "Merge")) return valueOf(outputs[0]);
  return outputs.slice(0, 3).map(valueOf).join(", ") + (outputs.length > 3 ? ", …" : "");
}
