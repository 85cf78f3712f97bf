// The tab that steps through a run firing by firing, forwards and backwards.
import { make, toggle } from "../elements/element.js";
import type { App, GraphView, Tab } from "../parts.js";
import { endsView, iterationsView, nodeView, nowView } from "../steps/column.js";
import { Decorator, outputText } from "../steps/decorations.js";
import type { Names } from "../steps/explain.js";
import { LongList } from "../steps/list.js";
import { Machine } from "../steps/machine.js";
import { Player } from "../steps/player.js";
import { iterationText, readRun, type Run } from "../steps/run.js";
import { schedulesView } from "../steps/schedules.js";
import type { Wiring } from "../steps/tokens.js";
import { fedEdges, wiringOf } from "../steps/wiring.js";
import { short } from "../texts/texts.js";

export function createTab(app: App): Tab {
  const bytes = app.sections.get("steps");
  if (!bytes)
    return new NoteTab("There are no steps: this graph was too large to go through, or couldn't be run without inputs.");
  try {
    const { scene } = app;
    return new StepsTab(app, readRun(bytes, scene.nodeCount, scene.bodies.length));
  } catch (error) {
    return new NoteTab(`The steps can't be read: ${error instanceof Error ? error.message : String(error)}.`);
  }
}

class NoteTab implements Tab {
  readonly element: HTMLElement;
  constructor(text: string) {
    this.element = make("div", { class: "steps-tab" }, make("p", { class: "time-note" }, text));
  }
  shown(): void {}
  hidden(): void {}
  key(): boolean {
    return false;
  }
}

/** In graphs with more nodes, the view follows the firing node. */
const mostWithoutFollowing = 20;

class StepsTab implements Tab {
  readonly element = make("div", { class: "steps-tab" });
  private readonly machine: Machine;
  private readonly wiring: Wiring & Names;
  private readonly decorator: Decorator;
  private readonly player: Player;
  private readonly list: LongList;
  private readonly host = make("div", { class: "steps-graph" });
  private readonly now = make("div", { class: "steps-now" });
  private readonly iterations = make("div");
  private readonly node = make("div");
  private readonly graph: GraphView;
  private isFollowing: boolean;
  private isShown = false;
  private hasFitted = false;
  private chosen: number | null = null;

  constructor(app: App, private readonly run: Run) {
    const { scene } = app, body = scene.bodies[run.body];
    this.wiring = wiringOf(scene);
    this.machine = new Machine(run, this.wiring, fedEdges(scene, run));
    this.decorator = new Decorator(this.machine, this.wiring);
    this.isFollowing = body.end - body.first > mostWithoutFollowing;
    this.player = new Player(run.firings.length, run.isCut, (at) => this.goTo(at));
    this.list = new LongList("Firings", run.firings.length, (row, element) => this.showRow(row, element),
      (row) => this.jump(row + 1));
    this.now.setAttribute("aria-live", "polite");
    this.layOut();
    this.graph = app.createGraphView(this.host, scene);
    this.graph.showBody(run.body);
    this.graph.onSelect((node) => this.choose(node));
    this.goTo(0);
  }

  private layOut(): void {
    const section = (title: string, ...content: HTMLElement[]) =>
      make("section", {}, make("h3", {}, title), ...content);
    const column = make(
      "div", { class: "steps-column" }, this.now, section("Iterations", this.iterations), this.node,
      section("Firings", this.list.element), section("From and to", endsView(this.run)));
    this.player.element.append(
      toggle("Follow", "Bring the node that fires into sight", this.isFollowing, (isOn) => {
        this.isFollowing = isOn;
        this.update();
      }));
    this.element.append(this.player.element, make("div", { class: "steps-both" }, this.host, column));
    if (this.run.schedules) this.addSchedules(this.run.schedules);
  }

  private addSchedules(schedules: NonNullable<Run["schedules"]>): void {
    const view = schedulesView(schedules), hasDifference = schedules.difference.length >= 2;
    const flip = (isOn: boolean) => {
      view.hidden = !isOn;
      this.element.classList.toggle("shows-schedules", isOn);
      if (!isOn) this.graph.resize();
    };
    view.hidden = true;
    const text = hasDifference ? "Two schedules differ" : "Schedules";
    this.player.element.append(toggle(text, "What the order of effects can change", false, flip));
    this.element.append(view);
  }

  private showRow(row: number, element: HTMLElement): void {
    const firing = this.run.firings[row], { wiring } = this;
    element.classList.toggle("is-dead", firing.dead);
    element.classList.toggle("to-come", row >= this.machine.at);
    element.classList.toggle("is-chosen", firing.node === this.chosen);
    element.append(
      make("span", { class: "row-number" }, String(row + 1)),
      make("span", { class: "row-name" }, short(wiring.name(firing.node), 60)),
      make("span", { class: "row-iteration" }, iterationText(firing.tag)),
      make("span", { class: "row-value" }, firing.error !== undefined ? "failed" : short(outputText(wiring.op(firing.node), firing), 40)));
  }

  private jump(at: number): void {
    this.player.pause();
    this.goTo(at);
  }

  private goTo(at: number): void {
    this.machine.goTo(at);
    this.player.set(this.machine.at);
    this.update();
  }

  private update(): void {
    const { machine } = this;
    this.now.replaceChildren(nowView(machine, this.wiring));
    this.iterations.replaceChildren(iterationsView(machine, (at) => this.jump(at)));
    this.list.mark(machine.at - 1);
    this.showNode();
    this.graph.decorate(this.decorator.decorations());
    if (this.isFollowing && machine.current && this.isShown) this.graph.reveal(machine.current.node);
  }

  private choose(node: number | null): void {
    // Selections that follow the run aren't the user's.
    if (this.isFollowing && node !== null && node === this.machine.current?.node) return;
    this.chosen = node;
    this.showNode();
    this.list.draw();
  }

  private showNode(): void {
    const { chosen } = this;
    if (chosen === null) this.node.replaceChildren();
    else
      this.node.replaceChildren(
        make("h3", {}, "The node you chose"),
        nodeView(chosen, this.decorator.firings(chosen), this.machine, this.wiring, (at) => this.jump(at)));
  }

  shown(): void {
    this.isShown = true;
    this.graph.resize();
    if (!this.hasFitted) this.graph.fit();
    this.hasFitted = true;
    this.list.draw();
  }
  hidden(): void {
    this.isShown = false;
    this.player.pause();
  }
  key(event: KeyboardEvent): boolean {
    return this.player.key(event);
  }
}
