// A small bar chart of the values of a weight.
import { make } from "../elements/element.js";
import type { Weight } from "../scene/scene.js";
import { number } from "../texts/shown.js";
import { count } from "../texts/texts.js";

const [width, height] = [264, 56];

export function histogram(weight: Weight): HTMLElement {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("class", "histogram");
  svg.setAttribute("role", "img");
  const bins = Array.isArray(weight.bins) ? weight.bins.filter(Number.isFinite) : [];
  const most = Math.max(1, ...bins);
  svg.setAttribute("aria-label", `values from ${number(weight.min)} to ${number(weight.max)}, mean ${number(weight.mean)}`);
  bins.forEach((bin, i) => {
    const bar = document.createElementNS(space, "rect");
    // A bin that holds few is still seen.
    const tall = bin > 0 ? Math.max(1.5, (bin / most) * (height - 2)) : 0;
    const step = width / bins.length;
    bar.setAttribute("x", String(i * step));
    bar.setAttribute("y", String(height - tall));
    bar.setAttribute("width", String(Math.max(1, step - 1)));
    bar.setAttribute("height", String(tall));
    svg.append(bar);
  });
  const facts = [
    `${number(weight.min)} … ${number(weight.max)}`, `mean ${number(weight.mean)}`, count(weight.count, "value"),
    weight.zeros > 0 ? count(weight.zeros, "zero") : "", weight.nans > 0 ? `${number(weight.nans)} NaN` : "",
    weight.infinities > 0 ? count(weight.infinities, "infinity", "infinities") : "",
  ].filter(Boolean);
  return make("figure", { class: "weight" }, svg, make("figcaption", {}, facts.join(" · ")));
}
