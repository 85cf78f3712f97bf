// The state of a run after a number of firings. It can be moved by one firing in either direction;
// the state at a point doesn't depend on how it was reached.
import { tagKey, type Firing, type Run, type Tag } from "./run.js";
import { Tokens, type Token, type Wiring } from "./tokens.js";

export interface Iteration {
  readonly tag: Tag;
  /** It is in progress after more than `first` firings (its first token exists) and until `last` (its
      last firing, including nested loops). */
  readonly first: number;
  readonly last: number;
  /** The firings with this tag itself. */
  readonly firings: number[];
}
/** One execution of a loop. */
export interface FrameRun {
  readonly name: string;
  /** The tag around it. */
  readonly around: Tag;
  readonly iterations: Iteration[];
}

export class Machine {
  readonly tokens: Tokens;
  readonly frames: FrameRun[];
  /** The number of firings so far. */
  at = 0;
  readonly waiting = new Set<Token>();
  /** The indices of ready firings, whose inputs are all available. */
  readonly ready = new Set<number>();
  /** Indices of firings by the time at which they become ready. */
  private readonly readyFrom: number[][];

  constructor(
    readonly run: Run,
    wiring: Wiring,
    fed: readonly { edge: number; text: string }[] = [],
  ) {
    this.tokens = new Tokens(wiring, run.firings, fed);
    this.frames = framesOf(run.firings, this.tokens.all);
    this.readyFrom = Array.from({ length: run.firings.length + 1 }, () => []);
    this.tokens.readySince.forEach((since, firing) => this.readyFrom[since].push(firing));
    for (const token of this.tokens.all) if (token.sent === 0) this.waiting.add(token);
    for (const firing of this.readyFrom[0]) this.ready.add(firing);
  }

  get length(): number {
    return this.run.firings.length;
  }
  /** The firing that was last, or null at the beginning. */
  get current(): Firing | null {
    return this.at ? this.run.firings[this.at - 1] : null;
  }

  goTo(at: number): void {
    const goal = Math.min(Math.max(0, Math.round(at)), this.length);
    while (this.at < goal) this.forwards();
    while (this.at > goal) this.backwards();
  }

  private forwards(): void {
    const number = this.at++;
    for (const token of this.tokens.takenBy[number]) if (!token.isConstant) this.waiting.delete(token);
    for (const token of this.tokens.sentBy[number]) if (token.taken > this.at) this.waiting.add(token);
    this.ready.delete(number);
    for (const firing of this.readyFrom[this.at]) if (firing >= this.at) this.ready.add(firing);
  }

  private backwards(): void {
    for (const firing of this.readyFrom[this.at]) this.ready.delete(firing);
    const number = --this.at;
    for (const token of this.tokens.sentBy[number]) this.waiting.delete(token);
    for (const token of this.tokens.takenBy[number]) if (!token.isConstant) this.waiting.add(token);
    this.ready.add(number);
  }
}

function framesOf(firings: readonly Firing[], tokens: readonly Token[]): FrameRun[] {
  const frames = new Map<string, FrameRun>();
  const iterations = new Map<string, Iteration & { first: number; last: number }>();
  firings.forEach(({ tag }, number) => {
    for (let depth = 1; depth <= tag.length; ++depth) {
      const own = tag.slice(0, depth), around = own.slice(0, -1), [name] = own[depth - 1];
      const key = tagKey(own), frameKey = tagKey(around) + name;
      let frame = frames.get(frameKey);
      if (!frame) frames.set(frameKey, (frame = { name, around, iterations: [] }));
      let iteration = iterations.get(key);
      if (!iteration) {
        iteration = { tag: own, first: number, last: number, firings: [] };
        iterations.set(key, iteration);
        frame.iterations.push(iteration);
      }
      iteration.last = number;
      if (depth === tag.length) iteration.firings.push(number);
    }
  });
  for (const { tag, sent, isConstant } of tokens)
    for (let depth = 1; depth <= tag.length && !isConstant; ++depth) {
      const iteration = iterations.get(tagKey(tag.slice(0, depth)));
      if (iteration) iteration.first = Math.min(iteration.first, Math.max(0, sent - 1));
    }
  for (const frame of frames.values())
    frame.iterations.sort((a, b) => a.tag.at(-1)![1] - b.tag.at(-1)![1]);
  return [...frames.values()];
}
