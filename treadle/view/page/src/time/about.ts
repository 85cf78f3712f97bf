// The description of a slice, in lines.
import { duration, short } from "../texts/texts.js";
import { exchangeTracks, opTracks, type Trace } from "./trace.js";

export interface SliceFacts {
  readonly title: string;
  readonly lines: [string, string][];
}

export function factsOf(trace: Trace, slice: number): SliceFacts {
  const length = trace.end[slice] - trace.begin[slice];
  const track = trace.tracks[trace.rows[trace.row[slice]].track];
  const lines: [string, string][] = [];
  if (trace.op[slice]) lines.push(["op", short(trace.texts[trace.op[slice]])]);
  lines.push(["start", duration(trace.begin[slice] - trace.from)], ["duration", duration(length)]);
  if (trace.hasInner[slice]) lines.push(["own time", duration(trace.own[slice])]);
  const iteration = iterationOf(trace, slice);
  if (iteration) lines.push(["iteration", iteration]);
  if (trace.waited[slice] > 0) lines.push(["waited", duration(trace.waited[slice])]);
  if (track.group === exchangeTracks) {
    lines.push(["hidden", duration(trace.hidden[slice])]);
    lines.push(["not hidden", duration(Math.max(0, length - trace.hidden[slice]))]);
  }
  if (track.group === opTracks) lines.push(["on", track.name]);
  return { title: short(trace.texts[trace.name[slice]], 200), lines };
}

/** Returns `3 of loop`, `3`, or nothing; outermost loops first if they are nested. */
function iterationOf(trace: Trace, slice: number): string {
  if (trace.loop[slice])
    return `${trace.iteration[slice]} of ${short(trace.texts[trace.loop[slice]], 60)}`;
  const numbers: string[] = [];
  for (let at = trace.parent[slice]; at >= 0; at = trace.parent[at])
    if (trace.op[at] === 0 && trace.iteration[at] >= 0) {
      const loop = trace.parent[at] >= 0 ? short(trace.texts[trace.name[trace.parent[at]]], 60) : "";
      numbers.unshift(loop ? `${trace.iteration[at]} of ${loop}` : String(trace.iteration[at]));
    }
  return numbers.join(", ");
}
