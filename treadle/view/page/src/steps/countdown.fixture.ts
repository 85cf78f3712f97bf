// For tests: a run of a loop that counts down, in the format of the section `steps`.
import type { Names } from "./explain.js";
import type { Firing, Run, Tag, Value } from "./run.js";
import type { Wiring } from "./tokens.js";

/** Name, op, inputs (`x:1`: an output; `^x`: control), in the order of nodes. */
const nodes: [string, string, string[], Record<string, string>?][] = [
  ["from", "Const", []],
  ["enter", "Enter", ["from"], { frame_name: '"loop"' }],
  ["n", "Merge", ["enter", "next"]],
  ["limit", "Const", []],
  ["zero", "Enter", ["limit"], { frame_name: '"loop"', is_constant: "true" }],
  ["more", "Greater", ["n", "zero"]],
  ["cond", "LoopCond", ["more"]],
  ["switch", "Switch", ["n", "cond"]],
  ["body", "Identity", ["switch:1"]],
  ["one", "Const", ["^body"]],
  ["dec", "Sub", ["body", "one"]],
  ["next", "NextIteration", ["dec"]],
  ["exit", "Exit", ["switch"]],
];

const numberOf = (name: string) => nodes.findIndex((node) => node[0] === name);
const edges = nodes.flatMap(([, , inputs], to) =>
  inputs.map((input) => {
    const [, control, name, port] = /^(\^?)([a-z]+)(?::(\d))?$/.exec(input)!;
    return { to, from: numberOf(name), port: control ? -1 : Number(port ?? 0) };
  }));

export const wiring: Wiring & Names = {
  op: (node) => nodes[node][1],
  attr: (node, key) => nodes[node][3]?.[key] ?? "",
  inputs(node) {
    const first = edges.findIndex((edge) => edge.to === node);
    return first < 0 ? { first: 0, end: 0 } : { first, end: first + nodes[node][2].length };
  },
  outputs: (node) => [...edges.keys()].filter((edge) => edges[edge].from === node),
  to: (edge) => edges[edge].to,
  port: (edge) => edges[edge].port,
  name: (node) => nodes[node][0],
  inputName: (node, input) => nodes[edges[wiring.inputs(node).first + input].from][0],
};

const dead: Value = { dead: true, text: "" };
const number = (n: number): Value => ({ dead: false, text: `int32[] = ${n}` });
const bool = (b: boolean): Value => ({ dead: false, text: `bool[] = ${b}` });

export function countdown(from: number): Run {
  const firings: Firing[] = [];
  const fire = (name: string, tag: Tag, inputs: (Value | null)[], outputs: Value[], isDead = false) =>
    firings.push({ node: numberOf(name), tag, dead: isDead, inputs, outputs });
  fire("from", [], [], [number(from)]);
  fire("limit", [], [], [number(0)]);
  fire("enter", [], [number(from)], [number(from)]);
  fire("zero", [], [number(0)], [number(0)]);
  for (let i = 0; i <= from; ++i) {
    const tag: Tag = [["loop", i]], n = number(from - i), more = bool(from > i), goesOn = from > i;
    fire("n", tag, i ? [null, n] : [n, null], [n, number(i ? 1 : 0)]);
    fire("more", tag, [n, number(0)], [more]);
    fire("cond", tag, [more], [more]);
    fire("switch", tag, [n, more], goesOn ? [dead, n] : [n, dead]);
    fire("exit", tag, [goesOn ? dead : n], [goesOn ? dead : n], goesOn);
    fire("body", tag, [goesOn ? n : dead], [goesOn ? n : dead], !goesOn);
    fire("one", tag, [], [goesOn ? number(1) : dead], !goesOn);
    const dec = goesOn ? number(from - i - 1) : dead;
    fire("dec", tag, [goesOn ? n : dead, goesOn ? number(1) : dead], [dec], !goesOn);
    fire("next", tag, [dec], [dec], !goesOn);
  }
  return { body: 0, feeds: [], firings, results: [{ name: "exit", text: "int32[] = 0" }], isCut: false, schedules: null };
}
