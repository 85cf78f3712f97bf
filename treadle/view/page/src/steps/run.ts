// The steps of a run in the section `steps`. treadle/view writes it from the reference machine,
// which follows docs/spec.md one firing at a time.

export interface Value {
  readonly dead: boolean;
  readonly text: string;
}
export type Tag = readonly (readonly [string, number])[];

export interface Firing {
  readonly node: number;
  readonly tag: Tag;
  readonly dead: boolean;
  /** By input; null if nothing has arrived (a Merge fires before that). */
  readonly inputs: readonly (Value | null)[];
  readonly outputs: readonly Value[];
  readonly error?: string;
}

export interface Schedule {
  readonly firings: readonly string[];
  readonly outcome: string;
}
export interface Schedules {
  readonly number: number;
  readonly isComplete: boolean;
  readonly isAmbiguous: boolean;
  readonly isRandom: boolean;
  readonly difference: readonly Schedule[];
}

export interface Run {
  /** Number of a body of the scene. */
  readonly body: number;
  readonly feeds: readonly { name: string; text: string }[];
  readonly firings: readonly Firing[];
  readonly results: readonly { name: string; text: string }[];
  /** Whether there were more firings. */
  readonly isCut: boolean;
  readonly schedules: Schedules | null;
}

/** Throws errors that describe the problem. */
export function readRun(bytes: Uint8Array, numNodes: number, numBodies: number): Run {
  const run = JSON.parse(new TextDecoder().decode(bytes)) as Run;
  if (!Array.isArray(run.firings)) throw new Error("there is no list of firings in them");
  if (!(run.body >= 0 && run.body < numBodies)) throw new Error(`body ${run.body} isn't in the graph`);
  run.firings.forEach((firing, i) => {
    if (!(firing.node >= 0 && firing.node < numNodes))
      throw new Error(`firing ${i} is of node ${firing.node}, and the graph has ${numNodes}`);
  });
  return run;
}

/** Returns `@2` in a loop, `@2@0` in a nested loop, and nothing outside. */
export function iterationText(tag: Tag): string {
  return tag.map(([, iteration]) => `@${iteration}`).join("");
}

export function tagKey(tag: Tag): string {
  return JSON.stringify(tag);
}
