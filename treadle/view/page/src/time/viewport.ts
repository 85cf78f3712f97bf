// The visible time range.

export class Viewport {
  begin: number;
  end: number;

  /** Creates a viewport of the whole time, with a width in pixels. */
  constructor(
    readonly from: number,
    readonly to: number,
    public width: number,
  ) {
    this.begin = from;
    this.end = to;
    this.fit();
  }

  /** All of it, with a little room on both sides. */
  fit(): void {
    const room = Math.max((this.to - this.from) * 0.01, 0.005);
    this.begin = this.from - room;
    this.end = this.to + room;
  }

  get span(): number {
    return this.end - this.begin;
  }
  /** Microseconds a pixel. */
  get scale(): number {
    return this.span / Math.max(1, this.width);
  }
  x(time: number): number {
    return (time - this.begin) / this.scale;
  }
  time(x: number): number {
    return this.begin + x * this.scale;
  }

  /** By 1/factor, with the time under `x` staying there. */
  zoom(factor: number, x = this.width / 2): void {
    const fixed = this.time(x);
    const all = this.to - this.from;
    const span = Math.min(Math.max(this.span * factor, 0.02), Math.max(all * 1.5, 0.1));
    this.begin = fixed - (x / Math.max(1, this.width)) * span;
    this.end = this.begin + span;
    this.keepInSight();
  }

  pan(pixels: number): void {
    const by = pixels * this.scale;
    this.begin += by;
    this.end += by;
    this.keepInSight();
  }

  /** Brings a slice into sight, in the middle where it wasn't, and wide enough to be seen. */
  show(begin: number, end: number): void {
    const length = end - begin, wanted = Math.max(length * 3, 0.05);
    const isWide = this.span < length * 60 && this.span > length;
    if (isWide && begin >= this.begin && end <= this.end) return;
    const span = isWide ? this.span : wanted;
    this.begin = (begin + end) / 2 - span / 2;
    this.end = this.begin + span;
  }

  /** Some of the trace stays in sight. */
  private keepInSight(): void {
    const { span } = this;
    this.begin = Math.min(Math.max(this.begin, this.from - span * 0.9), this.to - span * 0.1);
    this.end = this.begin + span;
  }
}

/** Times for the axis, at a distance of 1, 2 or 5 of some unit. */
export function ticks(begin: number, end: number, most: number): number[] {
  const rough = (end - begin) / Math.max(1, most);
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * unit).find((n) => n >= rough * 0.999)!;
  const out: number[] = [];
  for (let i = Math.ceil(begin / step); i * step <= end && out.length < 100; ++i) out.push(i * step);
  return out;
}
