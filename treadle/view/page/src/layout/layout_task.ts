// What is asked of a layout, and what it answers. An end of an edge is a child's place; from `count`
// on a port where edges come in, and after those a port where they leave.

export interface LayoutTask {
  count: number;
  widths: Float32Array;
  heights: Float32Array;
  ins: number;
  outs: number;
  from: Int32Array;
  to: Int32Array;
  /** EdgeKind by edge. */
  kinds: Uint8Array;
  /** By edge: an output's number, so that edges of one output leave from one point. */
  fromPort: Int32Array;
  /** By edge: where it must leave from or arrive at, from the box's left side; NaN where it is free. */
  fromAt: Float32Array;
  toAt: Float32Array;
  /** Whether it is a set: boxes are packed, in rows. */
  packs: boolean;
  padding: { top: number; side: number; bottom: number };
}

export interface LayoutResult {
  x: Float32Array;
  y: Float32Array;
  width: number;
  height: number;
  inX: Float32Array;
  outX: Float32Array;
  /** Corners of edge e: `points` from 2 * pointBegin[e] on. Null: edges are straight. */
  pointBegin: Uint32Array | null;
  points: Float32Array;
}
