// Two schedules of one graph with different results, side by side.
import { make } from "../elements/element.js";
import { count, short } from "../texts/texts.js";
import type { Schedule, Schedules } from "./run.js";

/** Returns the length of the common prefix of both schedules, in firings. */
export function placeOfParting(a: readonly string[], b: readonly string[]): number {
  let at = 0;
  while (at < a.length && at < b.length && a[at] === b[at]) ++at;
  return at;
}

export function schedulesView(schedules: Schedules): HTMLElement {
  const element = make("section", { class: "schedules", label: "Schedules" });
  element.append(make("h2", {}, "In which order"), make("p", {}, sayOf(schedules)));
  const [first, second] = schedules.difference;
  if (!first || !second) return element;
  const at = placeOfParting(first.firings, second.firings);
  element.append(make("p", {}, partingOf(first, second, at)));
  const both = make("div", { class: "schedules-both" });
  both.append(column("One schedule", first, at, "a"), column("Another", second, at, "b"));
  element.append(both);
  return element;
}

function sayOf(schedules: Schedules): string {
  const tried = `${count(schedules.number, "schedule")} of the ops with effects ${schedules.number === 1 ? "was" : "were"} run` +
    (schedules.isComplete ? ": all that can differ" : ", and there are more");
  if (schedules.difference.length >= 2) return `${tried}. Two of them give different things: the graph has a race.`;
  if (schedules.isAmbiguous) return `${tried}. Values met at a Merge, or left a loop twice: what counts is what comes first.`;
  if (schedules.isRandom) return `${tried}. The same schedule gave two things: something in the graph is random.`;
  return `${tried}. All give the same.`;
}

function partingOf(a: Schedule, b: Schedule, at: number): string {
  const name = (schedule: Schedule) => (schedule.firings[at] ? `‘${short(schedule.firings[at], 60)}’` : "nothing more");
  const begin = at === 0 ? "They part at once" : `They are alike for ${count(at, "firing")}, and then part`;
  return `${begin}: one fires ${name(a)}, the other ${name(b)}.`;
}

/** Maximum number of rows; the common prefix is folded. */
const mostRows = 200, aroundParting = 4;

function column(title: string, schedule: Schedule, parting: number, kind: string): HTMLElement {
  const list = make("ol", { class: "schedule" });
  const first = Math.max(0, parting - aroundParting);
  list.start = first + 1;
  schedule.firings.slice(first, first + mostRows).forEach((name, i) => {
    const place = first + i, item = make("li", {}, make("code", {}, short(name, 80)));
    item.className = place < parting ? "alike" : place === parting ? `parting ${kind}` : "";
    if (place === parting) item.append(make("span", { class: "parting-word" }, "here they part"));
    list.append(item);
  });
  const left = schedule.firings.length - first - mostRows;
  return make(
    "div", { class: "schedule-column" },
    make("h3", {}, title),
    first ? make("p", { class: "part-hint" }, `${count(first, "firing")} before, alike in both`) : null,
    list,
    left > 0 ? make("p", { class: "part-hint" }, `${count(left, "firing")} more`) : null,
    make("h4", {}, "It gives"),
    make("pre", { class: "outcome" }, short(schedule.outcome, 4000)),
  );
}
