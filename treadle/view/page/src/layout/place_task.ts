// The linear-time placement, as an answer to a layout task.
import type { LayoutResult, LayoutTask } from "./layout_task.js";
import { place } from "./place.js";
import { EdgeKind } from "../scene/scene.js";

export function placeTask(task: LayoutTask): LayoutResult {
  const { count, padding } = task;
  const inner: number[] = [];
  for (let edge = 0; edge < task.from.length; ++edge)
    if (task.from[edge] < count && task.to[edge] < count && task.kinds[edge] !== EdgeKind.Back) inner.push(edge);
  const places = place(task.widths, task.heights,
    Int32Array.from(inner, (edge) => task.from[edge]), Int32Array.from(inner, (edge) => task.to[edge]));
  for (let i = 0; i < count; ++i) {
    places.x[i] += padding.side;
    places.y[i] += padding.top;
  }
  const width = Math.max(places.width, 12 * Math.max(task.ins, task.outs)) + 2 * padding.side;
  return {
    x: places.x, y: places.y, width, height: places.height + padding.top + padding.bottom,
    inX: spread(task.ins, width), outX: spread(task.outs, width), pointBegin: null, points: new Float32Array(0),
  };
}

function spread(ports: number, width: number): Float32Array {
  return Float32Array.from({ length: ports }, (_, i) => (width * (i + 1)) / (ports + 1));
}
