// The input and output of a layout. An end of an edge is the position of a child, or an input port
// (from `count` on), or an output port (after those).

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
  /** By edge: the index of the output, so that edges of one output start at one point. */
  fromPort: Int32Array;
  /** By edge: the required start or end, relative to the box's left side; NaN if it is free. */
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
