import assert from "node:assert/strict";
import { test } from "node:test";
import { countdown, wiring } from "./countdown.fixture.js";
import { explain } from "./explain.js";
import { Machine } from "./machine.js";
import type { Firing } from "./run.js";
import { tagOfOutputs, tokenIteration } from "./tokens.js";

const machine = (from = 2) => new Machine(countdown(from), wiring);
const stateOf = (m: Machine) => ({
  at: m.at,
  waiting: [...m.waiting].map((t) => `${t.edge}${tokenIteration(t)}=${t.dead ? "dead" : t.text}`).sort(),
  ready: [...m.ready].sort((a, b) => a - b),
});
const waitingAt = (m: Machine, name: string) =>
  [...m.waiting].filter((t) => wiring.name(wiring.to(t.edge)) === name)
    .map((t) => `${wiring.inputName(wiring.to(t.edge), 0)}${tokenIteration(t)}: ${t.dead ? "dead" : t.text}`);

test("a moment has one state, whichever way it was come to", () => {
  const forwards = machine(), states = [];
  for (let at = 0; at <= forwards.length; ++at) {
    forwards.goTo(at);
    states.push(stateOf(forwards));
  }
  for (let at = forwards.length; at >= 0; --at) {
    forwards.goTo(at);
    assert.deepEqual(stateOf(forwards), states[at]);
  }
  for (const at of [7, 30, 3, 12, 0, 25]) {
    forwards.goTo(at);
    assert.deepEqual(stateOf(forwards), states[at]);
  }
});

test("nothing waits at the end but constants of loops", () => {
  const m = machine();
  m.goTo(Infinity);
  assert.equal(m.at, m.length);
  assert.ok([...m.waiting].every((token) => token.isConstant));
  assert.equal(m.ready.size, 0);
});

test("tokens wait where the next node takes them, under their iteration", () => {
  const m = machine();
  m.goTo(3); // from, limit, enter
  assert.deepEqual(waitingAt(m, "n"), ["enter@0: int32[] = 2"]);
  m.goTo(4); // the constant
  assert.deepEqual([...m.waiting].filter((t) => t.isConstant).map(tokenIteration), ["@*"]);
  m.goTo(13); // the first iteration's NextIteration
  assert.deepEqual(waitingAt(m, "n"), ["enter@1: int32[] = 1"]);
});

test("dead NextIterations and Exits send nothing", () => {
  const m = machine(1);
  m.goTo(Infinity);
  const sent = m.run.firings.map((f, i) => [wiring.op(f.node), f.dead, m.tokens.sentBy[i].length]);
  for (const [op, isDead, number] of sent)
    if (isDead && (op === "NextIteration" || op === "Exit")) assert.equal(number, 0);
});

test("iterations are those of their loop, from their first token to their last firing", () => {
  const [frame] = machine(2).frames;
  assert.equal(frame.name, "loop");
  assert.deepEqual(frame.iterations.map((i) => [i.tag.at(-1)![1], i.first, i.last]), [[0, 2, 12], [1, 12, 21], [2, 21, 30]]);
});

const sentences: [string, number, string][] = [
  ["from", 0, "Const ‘from’ waits for nothing, and gives 1."],
  ["enter", 0, "Enter ‘enter’ brings 1 into iteration 0 of loop ‘loop’."],
  ["zero", 0, "Enter ‘zero’ brings 0 into loop ‘loop’ as a constant: it is there in every iteration."],
  ["n", 0, "Merge ‘n’ passes on 1, which came by input 0 from ‘enter’; it waits for no other input."],
  ["n", 1, "Merge ‘n’ passes on 0, which came by input 1 from ‘next’; it waits for no other input."],
  ["more", 0, "Greater ‘more’ got 1 and 0 and gives true."],
  ["cond", 0, "LoopCond ‘cond’ says true: the loop goes on after iteration 0."],
  ["cond", 1, "LoopCond ‘cond’ says false: the loop ends with iteration 1."],
  ["switch", 0, "Switch ‘switch’ got 1 and true: 1 leaves by output 1 (true), output 0 is dead."],
  ["switch", 1, "Switch ‘switch’ got 0 and false: 0 leaves by output 0 (false), output 1 is dead."],
  ["exit", 0, "Exit ‘exit’ got dead in iteration 0, and keeps it back: the loop ‘loop’ isn't left yet."],
  ["exit", 1, "Exit ‘exit’ takes 0 out of the loop ‘loop’, from iteration 1."],
  ["one", 0, "Const ‘one’ got a control token and gives 1."],
  ["one", 1, "Const ‘one’ doesn't run: a control token that it waited for is dead, so all it sends is dead."],
  ["dec", 1, "Sub ‘dec’ doesn't run: 2 of its inputs are dead, so all it sends is dead."],
  ["body", 1, "Identity ‘body’ doesn't run: input 0, from ‘switch’, is dead, so all it sends is dead."],
  ["next", 0, "NextIteration ‘next’ passes 0 from iteration 0 to iteration 1."],
  ["next", 1, "NextIteration ‘next’ got dead and sends nothing: iteration 2 doesn't begin."],
];
for (const [name, iteration, text] of sentences)
  test(`what ‘${name}’ did in iteration ${iteration} is said in a sentence`, () => {
    const found = countdown(1).firings.find(
      (f: Firing) => wiring.name(f.node) === name && (f.tag.at(-1)?.[1] ?? 0) === iteration)!;
    assert.equal(explain(found, wiring, wiring), text);
  });

test("the end of a loop that gave nothing is dead around it", () => {
  const run = countdown(1), exit = run.firings.find((f) => wiring.op(f.node) === "Exit")!;
  const end: Firing = { ...exit, tag: [["outer", 2]], dead: true, inputs: [null], outputs: [{ dead: true, text: "" }] };
  const m = new Machine({ ...run, firings: [...run.firings, end] }, wiring);
  assert.deepEqual(tagOfOutputs(wiring, end), [["outer", 2]]);
  assert.match(explain(end, wiring, wiring), /its loop is over/);
  m.goTo(run.firings.length - 1);
  assert.ok(!m.ready.has(run.firings.length));
  m.goTo(run.firings.length);
  assert.ok(m.ready.has(run.firings.length));
});

test("a failure is said with its error", () => {
  const firing = { ...countdown(1).firings[5], error: "division by zero" };
  assert.equal(explain(firing, wiring, wiring), "Greater ‘more’ failed: division by zero.");
});
