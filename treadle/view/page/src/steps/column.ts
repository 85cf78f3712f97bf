// The column next to the picture: the effect of a firing, iterations in progress, and the history
// of a node.
import { make } from "../elements/element.js";
import { count, short } from "../texts/texts.js";
import { outputText } from "./decorations.js";
import { explain, valueOf, type Names } from "./explain.js";
import type { FrameRun, Iteration, Machine } from "./machine.js";
import { iterationText, type Firing, type Run, type Value } from "./run.js";
import type { Wiring } from "./tokens.js";

export type Go = (at: number) => void;

/** Describes the last firing in a sentence, with its values. */
export function nowView(machine: Machine, wiring: Wiring & Names): HTMLElement {
  const firing = machine.current;
  if (!firing)
    return make("div", {}, make("p", { class: "sentence" },
      "Nothing has fired yet. Nodes that wait for nothing are ready. Press the right arrow key."));
  const iteration = iterationText(firing.tag);
  return make(
    "div", {},
    make("p", { class: "sentence" }, explain(firing, wiring, wiring)),
    iteration ? make("p", { class: "part-hint" }, `In ${firing.tag.map(([frame, i]) => `iteration ${i} of ‘${short(frame, 40)}’`).join(", in ")}`) : null,
    values("got", firing.inputs, (i) => wiring.inputName(firing.node, i)),
    values("gave", firing.outputs, (i) => `output ${i}`),
  );
}

function values(verb: string, list: readonly (Value | null)[], nameOf: (i: number) => string): HTMLElement | null {
  if (list.length === 0) return null;
  const rows = make("dl", { class: "fact-list step-values" });
  list.slice(0, 12).forEach((value, i) => {
    const text = !value ? "not there yet" : value.dead ? "dead" : short(inWords(value.text), 300);
    const row = make("div", { class: value?.dead ? "is-dead" : "" }, make("dt", {}, `${verb} ${short(nameOf(i), 40)}`), make("dd", {}, text));
    rows.append(row);
  });
  if (list.length > 12) rows.append(make("div", {}, make("dt", {}, ""), make("dd", {}, `and ${list.length - 12} more`)));
  return rows;
}

/** Bools as words. */
function inWords(text: string): string {
  return text === "bool[] = 1" ? "bool[] = true" : text === "bool[] = 0" ? "bool[] = false" : text;
}

/** Shows iterations by loop, with waiting tokens and ready nodes. */
export function iterationsView(machine: Machine, go: Go): HTMLElement {
  const element = make("div", { class: "frames" });
  const begun = machine.frames.filter((frame) => machine.at > frame.iterations[0].first);
  if (machine.frames.length === 0) element.append(make("p", { class: "part-hint" }, "The graph has no loop of version 1."));
  else if (begun.length === 0) element.append(make("p", { class: "part-hint" }, "No loop has begun."));
  const counts = countsByIteration(machine);
  // Shows the latest executions of an inner loop; there may be one for each outer iteration.
  for (const frame of begun.slice(-6)) element.append(frameView(frame, machine, counts, go));
  if (begun.length > 6) element.prepend(make("p", { class: "part-hint" }, `${begun.length - 6} loops before these aren't shown.`));
  return element;
}

interface Counts {
  tokens: number;
  ready: number;
}

function countsByIteration(machine: Machine): Map<string, Counts> {
  const counts = new Map<string, Counts>();
  const at = (tag: Firing["tag"]) => {
    const key = JSON.stringify(tag);
    if (!counts.has(key)) counts.set(key, { tokens: 0, ready: 0 });
    return counts.get(key)!;
  };
  for (const token of machine.waiting) if (!token.isConstant && token.tag.length) ++at(token.tag).tokens;
  for (const number of machine.ready) ++at(machine.run.firings[number].tag).ready;
  return counts;
}

function frameView(frame: FrameRun, machine: Machine, counts: Map<string, Counts>, go: Go): HTMLElement {
  const around = iterationText(frame.around);
  const over = frame.iterations.filter((i) => machine.at > i.last).length;
  const title = make("h4", {}, `‘${short(frame.name, 50)}’${around && " in " + around}`);
  const line = make("div", { class: "iterations" });
  const from = frame.iterations[0].tag.at(-1)![1];
  if (over) line.append(make("span", { class: "iteration over" }, over === 1 ? `${from} is over` : `${from} to ${from + over - 1} are over`));
  for (const iteration of frame.iterations.filter((i) => machine.at > i.first && machine.at <= i.last))
    line.append(iterationView(iteration, counts, go));
  return make("div", { class: "frame-run" }, title, line);
}

function iterationView(iteration: Iteration, counts: Map<string, Counts>, go: Go): HTMLElement {
  const { tokens, ready } = counts.get(JSON.stringify(iteration.tag)) ?? { tokens: 0, ready: 0 };
  const number = iteration.tag.at(-1)![1];
  const element = make("button", { class: "iteration under-way", title: "To the first firing in it" },
    `${number}: ${count(tokens, "token")}, ${ready} ready`);
  element.type = "button";
  element.addEventListener("click", () => go(iteration.first + 1));
  return element;
}

/** Shows the history of a node by iteration. */
export function nodeView(node: number, numbers: readonly number[], machine: Machine, wiring: Wiring & Names, go: Go): HTMLElement {
  const { firings } = machine.run, name = short(wiring.name(node), 60);
  if (numbers.length === 0) return make("p", { class: "part-hint" }, `‘${name}’ doesn't fire in this run.`);
  const list = make("div", { class: "node-firings" });
  for (const number of numbers.slice(0, 200)) {
    const firing = firings[number];
    const row = make("button", { class: firing.dead ? "is-dead" : "" },
      make("span", {}, iterationText(firing.tag) || "–"),
      make("span", {}, firing.inputs.map(valueOf).join(", ")), make("span", {}, "→ " + outputText(wiring.op(node), firing)));
    row.type = "button";
    if (number === machine.at - 1) row.setAttribute("aria-current", "step");
    if (number >= machine.at) row.classList.add("to-come");
    row.addEventListener("click", () => go(number + 1));
    list.append(row);
  }
  return make("div", {}, make("h4", {}, `${wiring.op(node)} ‘${name}’`), list,
    numbers.length > 200 ? make("p", { class: "part-hint" }, `and ${numbers.length - 200} more`) : null);
}

export function endsView(run: Run): HTMLElement {
  const list = make("dl", { class: "fact-list step-values" });
  const add = (verb: string, { name, text }: { name: string; text: string }) =>
    list.append(make("div", {}, make("dt", {}, `${verb} ${short(name, 60)}`), make("dd", {}, short(text, 200))));
  for (const feed of run.feeds ?? []) add("fed", feed);
  for (const result of run.results ?? []) add("result", result);
  return list;
}
