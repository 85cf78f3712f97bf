// The search field and its results, as a list with keyboard navigation.
import { make } from "../elements/element.js";
import { icon } from "../elements/icons.js";
import type { Scene } from "../scene/scene.js";
import { search, type Found } from "../scene/search.js";
import { shown } from "../texts/shown.js";
import { count } from "../texts/texts.js";

const mostResults = 100;

export class SearchBox {
  readonly element = make("div", { class: "search" });
  readonly input = make("input", { label: "Search nodes" });
  private readonly results = make("ul", { class: "results", label: "Nodes found" });
  private readonly status = make("div", { class: "results-status" });
  private readonly popup = make("div", { class: "results-popup" });
  private stop = new AbortController();
  private nodes: number[] = [];
  private at = -1;

  constructor(private readonly scene: Scene, private readonly choose: (node: number) => void) {
    this.input.type = "search";
    this.input.placeholder = "Search: name, op:MatMul, type:int32";
    this.input.spellcheck = false;
    this.input.autocomplete = "off";
    this.results.id = "search-results";
    this.results.setAttribute("role", "listbox");
    this.status.setAttribute("role", "status");
    for (const [name, value] of [["role", "combobox"], ["aria-expanded", "false"], ["aria-controls", "search-results"], ["aria-autocomplete", "list"]])
      this.input.setAttribute(name, value);
    this.popup.append(this.status, this.results);
    this.popup.hidden = true;
    this.element.append(icon("search"), this.input, make("kbd", {}, "/"), this.popup);
    this.input.addEventListener("input", () => void this.run());
    this.input.addEventListener("focus", () => { if (this.input.value) void this.run(); });
    this.input.addEventListener("keydown", (event) => this.key(event));
    this.element.addEventListener("focusout", (event) => {
      if (!this.element.contains(event.relatedTarget as Node | null)) this.close();
    });
  }

  open(query?: string) {
    if (query !== undefined) this.input.value = query;
    this.input.focus();
    this.input.select();
    if (query !== undefined) void this.run();
  }
  private close() {
    this.stop.abort();
    this.popup.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
  }

  private async run() {
    this.stop.abort();
    this.stop = new AbortController();
    if (this.input.value.trim() === "") return this.close();
    this.popup.hidden = false;
    this.input.setAttribute("aria-expanded", "true");
    await search(this.scene, this.input.value, mostResults, this.stop.signal, (found) => this.report(found));
  }

  private report({ nodes, count: total, isDone }: Found) {
    const more = total > nodes.length ? `, the first ${nodes.length} are listed` : "";
    this.status.textContent = isDone && total === 0 ? "Nothing has this name. You can search by op:, type: and resource: too."
      : `${count(total, "node")}${isDone ? "" : " so far"}${more}`;
    if (nodes.length === this.nodes.length && nodes.every((node, i) => node === this.nodes[i]) && this.results.childElementCount > 0) return;
    this.nodes = nodes.slice();
    this.results.replaceChildren(...nodes.map((node, i) => this.row(node, i)));
    this.mark(nodes.length > 0 ? 0 : -1);
  }

  private row(node: number, i: number): HTMLElement {
    const { scene } = this;
    const row = make("li", {}, make("span", { class: "found-name" }, shown(scene.name(node), 120)),
      make("small", {}, shown(scene.op(node), 40)), make("small", { class: "type" }, shown(scene.outputType(node, 0), 40)));
    row.setAttribute("role", "option");
    row.id = `search-result-${i}`;
    row.addEventListener("pointerdown", (event) => event.preventDefault());
    row.addEventListener("click", () => this.take(i));
    return row;
  }
  private mark(i: number) {
    this.results.children[this.at]?.removeAttribute("aria-selected");
    this.at = i;
    const row = this.results.children[i];
    row?.setAttribute("aria-selected", "true");
    row?.scrollIntoView({ block: "nearest" });
    if (row) this.input.setAttribute("aria-activedescendant", row.id);
    else this.input.removeAttribute("aria-activedescendant");
  }
  private take(i: number) {
    const node = this.nodes[i];
    if (node === undefined) return;
    this.close();
    this.input.blur();
    this.choose(node);
  }
  private key(event: KeyboardEvent) {
    const last = this.nodes.length - 1;
    if (event.key === "ArrowDown") this.mark(Math.min(last, this.at + 1));
    else if (event.key === "ArrowUp") this.mark(Math.max(0, this.at - 1));
    else if (event.key === "Enter") this.take(Math.max(0, this.at));
    else if (event.key === "Escape") { this.close(); this.input.blur(); }
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
