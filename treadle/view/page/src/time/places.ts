// The positions of tracks and rows of a timeline, in pixels from its top.
import type { Trace } from "./trace.js";

export const rowHeight = 18, rowPitch = 20;
const headingHeight = 24, trackGap = 6;

export interface PlacedTrack {
  readonly track: number;
  readonly y: number;
  readonly height: number;
}
export interface PlacedHeading {
  readonly text: string;
  readonly y: number;
  readonly height: number;
}

export class Places {
  readonly headings: PlacedHeading[] = [];
  readonly tracks: PlacedTrack[] = [];
  readonly height: number;
  private readonly yOfTrack: number[] = [];

  constructor(private readonly trace: Trace) {
    let y = 0, group = NaN;
    trace.tracks.forEach((track, number) => {
      if (track.group !== group) {
        group = track.group;
        const text = trace.groupNames.get(group) ?? `process ${group}`;
        this.headings.push({ text, y, height: headingHeight });
        y += headingHeight;
      }
      const height = track.rows * rowPitch;
      this.tracks.push({ track: number, y, height });
      this.yOfTrack.push(y);
      y += height + trackGap;
    });
    this.height = y;
  }

  yOfRow(row: number): number {
    const { track, depth } = this.trace.rows[row];
    return this.yOfTrack[track] + depth * rowPitch;
  }

  /** The row at this height, or -1. */
  rowAt(y: number): number {
    for (const { track, y: top, height } of this.tracks)
      if (y >= top && y < top + height)
        return this.trace.tracks[track].firstRow + Math.floor((y - top) / rowPitch);
    return -1;
  }
}
