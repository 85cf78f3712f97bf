// Reconstructs the waiting tokens after each firing of a run. Each token has the firing that sent
// it and the firing that took it, so that any point of the run can be shown in both directions: the
// tokens waiting after k firings are those that the first k firings sent and didn't take.
import { iterationText, tagKey, type Firing, type Tag } from "./run.js";

/** The required information about a graph. Labels are rules of docs/spec.md. */
export interface Wiring {
  op(node: number): string;
  /** The value of an attribute of the node as text, or ''. */
  attr(node: number, key: string): string;
  /** The edges into a node: data by port, then control. */
  inputs(node: number): { first: number; end: number };
  outputs(node: number): readonly number[];
  to(edge: number): number;
  /** The output that an edge leaves from; -1: control. */
  port(edge: number): number;
}

export interface Token {
  readonly edge: number;
  readonly tag: Tag;
  readonly dead: boolean;
  readonly text: string;
  /** The number of firings after which it exists: 0 for feeds. */
  readonly sent: number;
  /** The number of firings after which it is consumed; Infinity if it never is. */
  taken: number;
  /** A constant of a loop: it exists in each iteration, and isn't consumed. */
  readonly isConstant: boolean;
}

export const isOp = (op: string, name: string) => op === name || op === "Ref" + name;

export class Tokens {
  readonly all: Token[] = [];
  /** By firing: the tokens that it took and sent. */
  readonly takenBy: Token[][] = [];
  readonly sentBy: Token[][] = [];
  /** By firing: the number of firings after which all of its inputs existed. */
  readonly readySince: number[] = [];
  /** Waiting tokens by edge and tag, during construction. */
  private readonly waiting = new Map<string, Token>();
  /** Constants of loops by edge and enclosing tag. */
  private readonly constants = new Map<string, Token>();
  /** Merges that have fired, by node and tag: later tokens for them are dropped. */
  private readonly fired = new Set<string>();

  constructor(
    private readonly wiring: Wiring,
    firings: readonly Firing[],
    fed: readonly { edge: number; text: string }[] = [],
  ) {
    for (const { edge, text } of fed) this.send({ edge, tag: [], dead: false, text }, 0);
    firings.forEach((firing, i) => this.fire(firing, i));
  }

  private fire(firing: Firing, number: number): void {
    const taken: Token[] = [], sent: Token[] = [];
    this.takenBy.push(taken);
    this.sentBy.push(sent);
    let since = 0;
    const { first, end } = this.wiring.inputs(firing.node);
    for (let edge = first; edge < end; ++edge) {
      const token = this.waiting.get(keyOf(edge, firing.tag)) ?? this.constantAt(edge, firing.tag);
      if (!token) continue;
      taken.push(token);
      since = Math.max(since, token.sent);
      if (!token.isConstant) {
        token.taken = number + 1;
        this.waiting.delete(keyOf(edge, firing.tag));
      }
    }
    // A loop has ended when no token is left in it; this isn't known earlier.
    this.readySince.push(isLoopsEnd(this.wiring, firing) ? number : since);
    this.fired.add(keyOf(firing.node, firing.tag));
    this.sendOutputs(firing, number + 1, sent);
  }

  private sendOutputs(firing: Firing, after: number, sent: Token[]): void {
    const { wiring } = this, op = wiring.op(firing.node);
    if (firing.error !== undefined) return; // node_4
    const isDead = firing.dead;
    if (isDead && isOp(op, "NextIteration")) return; // frame_3
    if (isDead && isOp(op, "Exit") && !isLoopsEnd(wiring, firing)) return; // frame_4
    const tag = tagOfOutputs(wiring, firing);
    const isConstant = isOp(op, "Enter") && isTrue(wiring.attr(firing.node, "is_constant")); // frame_2
    for (const edge of wiring.outputs(firing.node)) {
      const port = wiring.port(edge), value = port < 0 ? null : firing.outputs[port];
      const dead = port < 0 ? isDead : (value?.dead ?? isDead);
      const text = port < 0 ? "" : (value?.text ?? "");
      sent.push(this.send({ edge, tag, dead, text, isConstant }, after));
    }
  }

  private send(
    { isConstant = false, ...what }: Pick<Token, "edge" | "tag" | "dead" | "text"> & { isConstant?: boolean },
    sent: number,
  ): Token {
    const { edge, tag } = what, node = this.wiring.to(edge);
    // A Merge that has fired consumes late tokens without effect.
    const isLate = !isConstant && isOp(this.wiring.op(node), "Merge") && this.fired.has(keyOf(node, tag));
    const token: Token = { ...what, isConstant, sent, taken: isLate ? sent : Infinity };
    this.all.push(token);
    if (isConstant) this.constants.set(keyOf(edge, tag.slice(0, -1)), token);
    else if (!isLate) this.waiting.set(keyOf(edge, tag), token);
    return token;
  }

  private constantAt(edge: number, tag: Tag): Token | undefined {
    return tag.length ? this.constants.get(keyOf(edge, tag.slice(0, -1))) : undefined;
  }
}

const keyOf = (number: number, tag: Tag) => number + tagKey(tag);
export const isTrue = (text: string) => text === "true" || text === "1";

/** Returns whether a loop has ended without this Exit being alive: the Exit then sends dead tokens with
    the enclosing tag, without consuming a token. frame_6 */
export function isLoopsEnd(wiring: Wiring, firing: Firing): boolean {
  return isOp(wiring.op(firing.node), "Exit") && firing.dead && !firing.inputs.some((value) => value);
}

/** Returns the destination of a firing's tokens: frame_1, frame_3, frame_4, node_5. */
export function tagOfOutputs(wiring: Wiring, firing: Firing): Tag {
  const op = wiring.op(firing.node), { tag } = firing;
  if (isOp(op, "Enter")) return [...tag, [frameName(wiring, firing.node), 0]];
  const last = tag.at(-1);
  if (!last || isLoopsEnd(wiring, firing)) return tag;
  if (isOp(op, "Exit")) return tag.slice(0, -1);
  if (isOp(op, "NextIteration")) return [...tag.slice(0, -1), [last[0], last[1] + 1]];
  return tag;
}

/** Attributes are shown in quotes. */
export function frameName(wiring: Wiring, enter: number): string {
  const text = wiring.attr(enter, "frame_name");
  return /^".*"$/s.test(text) ? text.slice(1, -1) : text;
}

/** `@3`; a constant of a loop is in each of its iterations: `@*`. */
export function tokenIteration(token: Token): string {
  return token.isConstant ? iterationText(token.tag.slice(0, -1)) + "@*" : iterationText(token.tag);
}
