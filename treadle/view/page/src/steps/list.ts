// A list that only creates visible rows: runs of a hundred thousand firings have as many rows.
import { make } from "../elements/element.js";

const rowHeight = 24;

export class LongList {
  readonly element = make("div", { class: "long-list" });
  private readonly space = make("div", { class: "long-list-space" });
  private current = -1;

  constructor(
    label: string,
    private readonly length: number,
    private readonly show: (row: number, element: HTMLElement) => void,
    choose: (row: number) => void,
  ) {
    this.element.setAttribute("role", "list");
    this.element.setAttribute("aria-label", label);
    this.space.style.height = `${length * rowHeight}px`;
    this.element.append(this.space);
    this.element.addEventListener("scroll", () => this.draw());
    this.element.addEventListener("click", (event) => {
      const row = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-row]") : null;
      if (row) choose(Number(row.dataset.row));
    });
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  /** Marks a row, or none (-1), and scrolls to it. */
  mark(row: number): void {
    this.current = row;
    const top = Math.max(0, row) * rowHeight, { scrollTop, clientHeight } = this.element;
    if (top < scrollTop || top + rowHeight > scrollTop + clientHeight)
      this.element.scrollTop = Math.max(0, top - clientHeight / 2);
    this.draw();
  }

  draw(): void {
    const { scrollTop, clientHeight } = this.element;
    const first = Math.max(0, Math.floor(scrollTop / rowHeight) - 2);
    const end = Math.min(this.length, Math.ceil((scrollTop + clientHeight) / rowHeight) + 2);
    const rows: HTMLElement[] = [];
    for (let row = first; row < end; ++row) {
      const element = make("button", { class: "long-list-row" });
      element.type = "button";
      element.tabIndex = -1; // the arrow keys go through the run
      element.dataset.row = String(row);
      element.style.top = `${row * rowHeight}px`;
      const item = make("div", {}, element);
      item.setAttribute("role", "listitem");
      item.setAttribute("aria-setsize", String(this.length));
      item.setAttribute("aria-posinset", String(row + 1));
      if (row === this.current) element.setAttribute("aria-current", "step");
      this.show(row, element);
      rows.push(item);
    }
    this.space.replaceChildren(...rows);
  }
}
