// A table that can be sorted by its columns, with a limited number of rows.
import { make } from "./element.js";

export interface TableColumn<Row> {
  readonly title: string;
  /** The tooltip of the column. */
  readonly hint?: string;
  /** The sort key of rows; numbers are sorted in descending order first. */
  readonly key: (row: Row) => number | string;
  readonly show: (row: Row) => string | Node;
  readonly isNumber?: boolean;
}

/** Maximum number of rows; the others are counted. */
const mostRows = 300;

export class SortedTable<Row> {
  readonly element = make("div", { class: "table-host" });
  private readonly body = document.createElement("tbody");
  private readonly heads: HTMLTableCellElement[] = [];
  private readonly more = make("p", { class: "table-more" });
  private rows: readonly Row[] = [];
  private column: number;
  private isDescending = true;

  /** `choose` is called with the row that was clicked, or chosen by Enter. */
  constructor(
    title: string,
    private readonly columns: readonly TableColumn<Row>[],
    sortedBy: number,
    private readonly choose: ((row: Row) => void) | null,
  ) {
    this.column = sortedBy;
    const table = make("table", { class: "sorted-table", label: title }), head = make("tr");
    columns.forEach((column, i) => head.append(this.headOf(column, i)));
    table.append(make("thead", {}, head), this.body);
    this.element.append(table, this.more);
  }

  private headOf(column: TableColumn<Row>, number: number): HTMLElement {
    const sort = make("button", { title: column.hint }, column.title);
    sort.type = "button";
    sort.addEventListener("click", () => {
      const isText = !this.columns[number].isNumber;
      this.isDescending = this.column === number ? !this.isDescending : !isText;
      this.column = number;
      this.fill();
    });
    const cell = make("th", { class: column.isNumber ? "number" : "" }, sort);
    cell.scope = "col";
    this.heads.push(cell);
    return cell;
  }

  setRows(rows: readonly Row[]): void {
    this.rows = rows;
    this.fill();
  }

  private fill(): void {
    const { key } = this.columns[this.column], sign = this.isDescending ? -1 : 1;
    const sorted = [...this.rows].sort((a, b) => {
      const x = key(a), y = key(b);
      return sign * (x < y ? -1 : x > y ? 1 : 0);
    });
    this.heads.forEach((head, i) =>
      head.setAttribute("aria-sort", i !== this.column ? "none" : this.isDescending ? "descending" : "ascending"));
    this.body.replaceChildren(...sorted.slice(0, mostRows).map((row) => this.lineOf(row)));
    const left = sorted.length - mostRows;
    this.more.textContent = left > 0 ? `${left.toLocaleString("en")} more rows aren't shown.` : "";
  }

  private lineOf(row: Row): HTMLElement {
    const line = make("tr");
    for (const column of this.columns)
      line.append(make("td", { class: column.isNumber ? "number" : "" }, column.show(row)));
    const { choose } = this;
    if (choose) {
      line.tabIndex = 0;
      line.className = "can-choose";
      line.addEventListener("click", () => choose(row));
      line.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        event.stopPropagation();
        choose(row);
      });
    }
    return line;
  }
}
