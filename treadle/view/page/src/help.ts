// The keys, as a dialog.
import { button, make } from "./elements/element.js";

const keys: [string, string][] = [
  ["/", "search"], ["↑ ↓", "to what feeds the node, and to what it feeds"], ["← →", "to the box beside it"],
  ["Enter", "open or close a group, loop or call"], ["Shift Enter", "into an open group"],
  ["Backspace", "to the group around"], ["Esc", "select nothing"], ["P", "path from the node to another"],
  ["Shift click", "path from the selected node to this one"], ["F or 0", "fit the graph"], ["+ −", "zoom"],
  ["Shift ↑ ↓ ← →", "move the picture"], ["O", "outline"], ["D", "details"], ["T", "dark or light"], ["C", "contrast"],
  ["W S A D", "in Time: zoom and move"], [", .", "in Time: to the slice before or after"],
  ["← → Home End Space", "in Steps: step, jump, play"], ["?", "these keys"],
];

export function showHelp() {
  const dialog = make("dialog", { class: "help", label: "Keys" });
  const rows = keys.flatMap(([key, what]) => [make("dt", {}, ...key.split(" ").map((k) => make("kbd", {}, k))), make("dd", {}, what)]);
  dialog.append(make("h2", {}, "Keys"), make("dl", {}, ...rows), button("Close", "", () => dialog.close()));
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  document.body.append(dialog);
  dialog.showModal();
}
