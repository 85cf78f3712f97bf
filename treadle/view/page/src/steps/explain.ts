// Describes in a sentence what a firing did, by the rules of docs/spec.md, whose labels are in
// comments.
import { short } from "../texts/texts.js";
import type { Firing, Value } from "./run.js";
import { frameName, isLoopsEnd, isTrue, type Wiring } from "./tokens.js";

/** The information about a graph that the sentences need in addition to its edges. */
export interface Names {
  name(node: number): string;
  /** Returns the output that an input is connected to. */
  inputName(node: number, input: number): string;
}

export function explain(firing: Firing, wiring: Wiring, names: Names): string {
  const op = wiring.op(firing.node), who = `${op} ‘${short(names.name(firing.node), 60)}’`;
  if (firing.error !== undefined) return sentence(`${who} failed: ${firing.error}`); // node_4
  const plain = op.startsWith("Ref") ? op.slice(3) : op;
  const rule = Object.hasOwn(rules, plain) ? rules[plain] : ordinary;
  return sentence(rule({ firing, wiring, names, who }));
}

/** Makes the text a sentence with a full stop. */
const sentence = (text: string) => (/[.:!]$/.test(text) ? text : text + ".");

interface Case {
  readonly firing: Firing;
  readonly wiring: Wiring;
  readonly names: Names;
  readonly who: string;
}

const rules: Record<string, (what: Case) => string> = {
  Switch: explainSwitch,
  _SwitchN: explainSwitchN,
  Merge: explainMerge,
  Enter: explainEnter,
  Exit: explainExit,
  NextIteration: explainNext,
  LoopCond: explainLoopCond,
  ControlTrigger: explainTrigger,
};

/** The value without its type: `int32[] = 5` is 5. */
export function valueOf(value: Value | null | undefined): string {
  if (!value) return "nothing";
  if (value.dead) return "dead";
  const at = value.text.indexOf(" = ");
  if (value.text.startsWith("bool[] = ")) return /^(1|true)/.test(value.text.slice(at + 3)) ? "true" : "false";
  return short(at >= 0 ? value.text.slice(at + 3) : value.text, 60) || "a value";
}

const iterationOf = (firing: Firing) => firing.tag.at(-1)?.[1] ?? 0;

// switch_1
function explainSwitch(what: Case): string {
  const { firing, who } = what, [value, predicate] = firing.inputs;
  if (firing.dead) return deadOrdinary(what);
  const isTaken = !firing.outputs[1]?.dead, taken = isTaken ? 1 : 0;
  return `${who} got ${valueOf(value)} and ${valueOf(predicate)}: ${valueOf(value)} leaves by output ` +
    `${taken} (${isTaken}), output ${1 - taken} is dead`;
}

// switch_2
function explainSwitchN(what: Case): string {
  const { firing, who } = what, [value, index] = firing.inputs;
  if (firing.dead) return deadOrdinary(what);
  const taken = firing.outputs.findIndex((output) => !output.dead);
  return `${who} got ${valueOf(value)} and the index ${valueOf(index)}: ${valueOf(value)} leaves by ` +
    `output ${taken}, the others are dead`;
}

// merge_1 to merge_4
function explainMerge({ firing, names, who }: Case): string {
  const input = firing.inputs.findIndex((value) => value && !value.dead);
  if (firing.dead || input < 0) {
    const hasAll = firing.inputs.every((value) => value);
    return `${who} passes on dead: ` + (hasAll ? "all its inputs are dead" : "what entered the loop is dead, so nothing else will come");
  }
  const from = short(names.inputName(firing.node, input), 60), isAlone = firing.inputs.length < 2;
  return `${who} passes on ${valueOf(firing.inputs[input])}, which came by input ${input} from ‘${from}’` +
    (isAlone ? "" : "; it waits for no other input");
}

// frame_1, frame_2
function explainEnter({ firing, wiring, who }: Case): string {
  const frame = `‘${short(frameName(wiring, firing.node), 60)}’`, [value] = firing.inputs;
  const isConstant = isTrue(wiring.attr(firing.node, "is_constant"));
  if (firing.dead) return `${who} brings dead into loop ${frame}: the loop is on a branch not taken`;
  return isConstant
    ? `${who} brings ${valueOf(value)} into loop ${frame} as a constant: it is there in every iteration`
    : `${who} brings ${valueOf(value)} into iteration 0 of loop ${frame}`;
}

// frame_4, frame_6
function explainExit({ firing, wiring, who }: Case): string {
  if (isLoopsEnd(wiring, firing)) return `${who} gives dead: its loop is over, and no live value came to it in any iteration`;
  const [frame] = firing.tag.at(-1) ?? [""], loop = frame ? ` ‘${short(frame, 60)}’` : "";
  return firing.dead
    ? `${who} got dead in iteration ${iterationOf(firing)}, and keeps it back: the loop${loop} isn't left yet`
    : `${who} takes ${valueOf(firing.inputs[0])} out of the loop${loop}, from iteration ${iterationOf(firing)}`;
}

// frame_3
function explainNext({ firing, who }: Case): string {
  const i = iterationOf(firing);
  return firing.dead
    ? `${who} got dead and sends nothing: iteration ${i + 1} doesn't begin`
    : `${who} passes ${valueOf(firing.inputs[0])} from iteration ${i} to iteration ${i + 1}`;
}

function explainLoopCond(what: Case): string {
  const { firing, who } = what;
  if (firing.dead) return deadOrdinary(what);
  const text = valueOf(firing.inputs[0]);
  return `${who} says ${text}: the loop ${text === "true" ? "goes on after" : "ends with"} iteration ${iterationOf(firing)}`;
}

// node_2's exception
function explainTrigger(what: Case): string {
  const { who } = what, n = controlsOf(what);
  return `${who} fires as ${n === 1 ? "its control token has" : `all its ${n} control tokens have`} come, dead or alive; its own is alive`;
}

function controlsOf({ firing, wiring }: Case): number {
  const { first, end } = wiring.inputs(firing.node);
  let number = 0;
  for (let edge = first; edge < end; ++edge) if (wiring.port(edge) < 0) ++number;
  return number;
}

/** Without control tokens a node with a dead input; else the token may be what was dead. node_2 */
function deadOrdinary({ firing, names, who }: Case): string {
  const dead = firing.inputs.flatMap((value, i) => (value?.dead ? [i] : []));
  if (dead.length === 0) return `${who} doesn't run: a control token that it waited for is dead, so all it sends is dead`;
  const from = short(names.inputName(firing.node, dead[0]), 60);
  const which = dead.length === 1
    ? `input ${dead[0]}, from ‘${from}’, is dead`
    : `${dead.length} of its inputs are dead`;
  return `${who} doesn't run: ${which}, so all it sends is dead`;
}

// token_1, node_1, node_3
function ordinary(what: Case): string {
  const { firing, who } = what;
  if (firing.dead) return deadOrdinary(what);
  const got = firing.inputs.map(valueOf), gave = firing.outputs.map(valueOf);
  const n = controlsOf(what), tokens = n ? `${n === 1 ? "a control token" : `${n} control tokens`}` : "";
  const inputs = got.length > 4 ? `${got.length} inputs` : got.join(" and ");
  const from = got.length && tokens ? `${inputs}, and ${tokens},` : got.length ? inputs : tokens;
  const outputs = gave.length > 4 ? `${gave.length} outputs` : gave.join(" and ");
  if (!from) return gave.length ? `${who} waits for nothing, and gives ${outputs}` : `${who} waits for nothing, and says that it is done`;
  return gave.length ? `${who} got ${from} and gives ${outputs}` : `${who} got ${from} and is done`;
}

