// The panel that lists the bodies, loops, conditionals, resources, signatures and races.
import { list } from "./details.js";
import { button, make } from "../elements/element.js";
import type { Scene } from "../scene/scene.js";
import { shown } from "../texts/shown.js";
import { count } from "../texts/texts.js";

export interface OutlineActions {
  select(node: number): void;
  showBody(body: number): void;
  search(query: string): void;
}

/** Races of two nodes; a node of a loop may race with itself in another iteration. */
function namesOf(scene: Scene, nodes: number[]): string {
  return [...new Set(nodes)].map((node) => shown(scene.name(node), 50)).join(" and ");
}

export class Outline {
  readonly element = make("div", { class: "outline" });
  private readonly bodyLinks = new Map<number, HTMLElement>();

  constructor(private readonly scene: Scene, private readonly actions: OutlineActions) {
    this.element.append(...[
      this.races(), this.bodies(), this.loops(), this.conditionals(), this.signatures(), this.resources(), this.notes(),
    ].filter((part): part is HTMLElement => part !== null));
  }

  /** Marks the body that is shown. */
  setBody(body: number) {
    for (const [other, link] of this.bodyLinks) {
      if (other === body) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  }

  private item(text: string, note: string, click: () => void): HTMLElement {
    const item = button("", "", click);
    item.className = "item";
    item.append(make("span", {}, shown(text, 120)), note ? make("small", {}, shown(note, 80)) : "");
    return item;
  }

  private part(title: string, length: number, row: (i: number) => HTMLElement, isOpen = true): HTMLElement | null {
    if (length === 0) return null;
    const part = make("details", {}, make("summary", {}, title, make("small", {}, length.toLocaleString("en"))));
    part.open = isOpen;
    // Long lists are created only when they become visible.
    const fill = () => { if (part.open && part.childElementCount === 1) part.append(list(length, row)); };
    part.addEventListener("toggle", fill);
    fill();
    return part;
  }

  private races() {
    const { races } = this.scene;
    const part = this.part("Races", races.length, (i) => {
      const { nodes, message } = races[i];
      return this.item(namesOf(this.scene, nodes), message, () => this.actions.select(nodes[0]));
    });
    part?.classList.add("races");
    return part;
  }
  private bodies() {
    const { bodies } = this.scene;
    return this.part("Graph and functions", bodies.length, (i) => {
      const { name, kind, first, end } = bodies[i];
      const item = this.item(kind === "flat" ? `${name || "graph"}, as it runs` : name || "graph", count(end - first, "node"), () => this.actions.showBody(i));
      this.bodyLinks.set(i, item);
      return item;
    });
  }
  private loops() {
    const { scene } = this;
    return this.part("Loops", scene.loops.length, (i) => {
      const loop = scene.loops[i];
      return this.item(loop.name, loop.overlaps ? `up to ${loop.parallelIterations} at once` : "one after the other", () => {
        const node = loop.node >= 0 ? loop.node : scene.nodeFrame.indexOf(loop.frame);
        if (node >= 0) this.actions.select(node);
      });
    });
  }
  private conditionals() {
    const { scene } = this;
    const nodes: number[] = [];
    for (let body = 0; body < scene.bodies.length; ++body)
      for (const node of scene.callersOf(body))
        if (/^(Stateless)?(If|Case)$/.test(scene.op(node)) && !nodes.includes(node) && nodes.length < 5000) nodes.push(node);
    return this.part("Conditionals", nodes.length, (i) =>
      this.item(scene.name(nodes[i]), scene.op(nodes[i]), () => this.actions.select(nodes[i])));
  }
  private signatures() {
    const { signatures } = this.scene;
    return this.part("Signatures", signatures.length, (i) => {
      const { name, inputs, outputs } = signatures[i];
      const values = [...inputs.map((v) => ({ ...v, way: "in" })), ...outputs.map((v) => ({ ...v, way: "out" }))];
      return make("div", { class: "signature" }, make("span", { class: "name" }, shown(name, 80)),
        list(values.length, (k) => this.item(values[k].key, `${values[k].way} ${values[k].type}`, () => {
          if (values[k].node >= 0) this.actions.select(values[k].node);
        })));
    });
  }
  private resources() {
    const { scene } = this;
    const uses = new Uint32Array(scene.resources.length);
    for (const [, effects] of scene.effectNodes()) for (const { resource } of effects) ++uses[resource];
    return this.part("Resources", scene.resources.length, (i) => this.item(scene.resources[i].name, count(uses[i], "use"), () => {
      const name = /'([^' ]+)'/.exec(scene.resources[i].name)?.[1] ?? scene.resources[i].name.split(" ").pop() ?? "";
      this.actions.search(`resource:${name}`);
    }), scene.resources.length <= 30);
  }
  private notes() {
    const { notes } = this.scene;
    return this.part("Notes", notes.length, (i) => make("p", { class: "note" }, shown(notes[i], 1000)));
  }
}
