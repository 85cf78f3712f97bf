// The box that an arrow key leads to.
import type { Level } from "../layout/levels.js";
import type { Picture, Place } from "../layout/picture.js";

export type Direction = "up" | "down" | "left" | "right";

/** Up and down follow edges to the inputs and users of the box. Left and right go to the nearest box
    next to it. */
export function neighbour(picture: Picture, from: Place | null, direction: Direction): Place | null {
  if (!from) return picture.root.count > 0 ? { level: picture.root, place: topmost(picture.root) } : null;
  const { level, place } = from;
  if (direction === "left" || direction === "right") return beside(level, place, direction === "left" ? -1 : 1);
  const { bundles } = level;
  const [here, there] = direction === "up" ? [bundles.to, bundles.from] : [bundles.from, bundles.to];
  let best = -1;
  let port = -1;
  for (let i = 0; i < here.length; ++i) {
    if (here[i] !== place || there[i] === place) continue;
    if (there[i] >= level.count) { if (port < 0) port = i; continue; }
    if (best < 0 || distance(level, place, there[i]) < distance(level, place, best)) best = there[i];
  }
  if (best >= 0) return { level, place: best };
  return port >= 0 && level.parent ? { level: level.parent, place: level.place } : null;
}

/** Into an open group, or out of one. */
export function inside(level: Level): Place { return { level, place: topmost(level) }; }

function middle(level: Level, place: number): [number, number] {
  const { x, y } = level.result as NonNullable<Level["result"]>;
  return [x[place] + level.widthOf(place) / 2, y[place] + level.heightOf(place) / 2];
}
function distance(level: Level, a: number, b: number): number {
  const [ax, ay] = middle(level, a);
  const [bx, by] = middle(level, b);
  return Math.abs(ax - bx) + Math.abs(ay - by) * 0.5;
}
function topmost(level: Level): number {
  let best = 0;
  const y = level.result?.y;
  if (y) for (let place = 1; place < level.count; ++place) if (y[place] < y[best]) best = place;
  return best;
}
function beside(level: Level, place: number, sign: number): Place | null {
  if (!level.result) return null;
  const [x, y] = middle(level, place);
  let best = -1;
  let least = Infinity;
  for (let other = 0; other < level.count; ++other) {
    if (other === place) continue;
    const [ox, oy] = middle(level, other);
    if ((ox - x) * sign <= 1) continue;
    const far = Math.abs(ox - x) + 4 * Math.abs(oy - y);
    if (far < least) { least = far; best = other; }
  }
  return best < 0 ? null : { level, place: best };
}
