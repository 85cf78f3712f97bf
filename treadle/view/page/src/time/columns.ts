// Growable columns of numbers, since the size of a million slices is known only at the end.

type Numbers = Float64Array | Int32Array | Uint32Array;

export class Column<T extends Numbers> {
  length = 0;
  constructor(
    private values: T,
    private readonly make: (length: number) => T,
  ) {}

  push(value: number): void {
    if (this.length === this.values.length) {
      const more = this.make(this.values.length * 2);
      more.set(this.values);
      this.values = more;
    }
    this.values[this.length++] = value;
  }

  /** In the order of `order`: the value of place i is that of number order[i]. */
  ordered(order: Uint32Array): T {
    const out = this.make(order.length);
    for (let i = 0; i < order.length; ++i) out[i] = this.values[order[i]];
    return out;
  }

  at(i: number): number {
    return this.values[i];
  }
}

export function floats(): Column<Float64Array> {
  return new Column(new Float64Array(1024), (length) => new Float64Array(length));
}

export function integers(): Column<Int32Array> {
  return new Column(new Int32Array(1024), (length) => new Int32Array(length));
}

/** The first place in [first, end) whose value isn't below `value`; the values ascend. */
export function lowerBound(values: Float64Array, first: number, end: number, value: number): number {
  while (first < end) {
    const middle = (first + end) >>> 1;
    if (values[middle] < value) first = middle + 1;
    else end = middle;
  }
  return first;
}
