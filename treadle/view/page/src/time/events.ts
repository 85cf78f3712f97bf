// Parses a trace in Chrome's Trace Event Format incrementally: a million events as one text and one
// object tree would take many times the memory of the result.

/** The fields of an event that `treadle run --trace` writes. */
export interface TraceEvent {
  ph?: string;
  pid?: number;
  tid?: number;
  name?: string;
  ts?: number;
  dur?: number;
  args?: {
    name?: string;
    op?: string;
    loop?: string;
    iteration?: number;
    waited_us?: number;
    hidden_us?: number;
    exchange?: boolean;
  };
}

export interface TraceSource {
  /** The data next to the events: sums over exchanges, and the number of omitted slices. */
  facts: Record<string, string>;
  /** The events, some thousands at a time, and how much of the bytes has been read, from 0 to 1. */
  pieces(): Generator<{ events: TraceEvent[]; done: number }>;
}

const quote = 34, backslash = 92, comma = 44, colon = 58;
const openBracket = 91, closeBracket = 93, openBrace = 123, closeBrace = 125;
const pieceBytes = 1 << 20;

class Scanner {
  constructor(readonly bytes: Uint8Array) {}

  /** From the opening quote to behind the closing one. */
  endOfString(at: number): number {
    const bytes = this.bytes;
    for (let i = at + 1; i < bytes.length; ++i) {
      const byte = bytes[i];
      if (byte === backslash) ++i;
      else if (byte === quote) return i + 1;
    }
    throw new Error("the trace ends within a text");
  }

  afterSpace(at: number): number {
    while (at < this.bytes.length && this.bytes[at] <= 32) ++at;
    return at;
  }

  isText(from: number, to: number, text: string): boolean {
    if (to - from !== text.length) return false;
    for (let i = 0; i < text.length; ++i)
      if (this.bytes[from + i] !== text.charCodeAt(i)) return false;
    return true;
  }

  /** Returns the start of the first event, in a list of its own or in the member `traceEvents`. */
  beginOfEvents(): number {
    const first = this.afterSpace(0);
    if (this.bytes[first] === openBracket) return first + 1;
    let depth = 0;
    for (let i = first; i < this.bytes.length; ++i) {
      const byte = this.bytes[i];
      if (byte === openBrace || byte === openBracket) ++depth;
      else if (byte === closeBrace || byte === closeBracket) --depth;
      else if (byte === quote) {
        const end = this.endOfString(i);
        const next = this.afterSpace(end);
        if (depth === 1 && this.bytes[next] === colon && this.isText(i + 1, end - 1, "traceEvents")) {
          const begin = this.afterSpace(next + 1);
          if (this.bytes[begin] === openBracket) return begin + 1;
        }
        i = end - 1;
      }
    }
    throw new Error("there is no list of events (traceEvents) in it");
  }

  /** Behind the event that begins at or behind `at`; -1 at the end of the list. */
  endOfEvent(at: number): number {
    let depth = 0;
    for (let i = at; i < this.bytes.length; ++i) {
      const byte = this.bytes[i];
      if (byte === quote) i = this.endOfString(i) - 1;
      else if (byte === openBrace) ++depth;
      else if (byte === closeBrace && --depth === 0) return i + 1;
      else if (byte === closeBracket && depth === 0) return -1;
    }
    throw new Error("the trace ends within its list of events");
  }
}

/** Throws errors that describe the problem of the trace. */
export function readTrace(bytes: Uint8Array): TraceSource {
  const scanner = new Scanner(bytes);
  const begin = scanner.beginOfEvents();
  const decoder = new TextDecoder();
  const parse = (from: number, to: number): TraceEvent[] =>
    JSON.parse("[" + decoder.decode(bytes.subarray(from, to)) + "]") as TraceEvent[];

  function* pieces(): Generator<{ events: TraceEvent[]; done: number }> {
    let pieceBegin = scanner.afterSpace(begin), at = pieceBegin;
    for (;;) {
      const end = scanner.endOfEvent(at);
      if (end < 0 || end - pieceBegin >= pieceBytes) {
        const last = end < 0 ? at : end;
        // The text after the last comma isn't an event.
        if (last > pieceBegin) yield { events: parse(pieceBegin, last), done: last / bytes.length };
        if (end < 0) return;
        pieceBegin = scanner.afterSpace(end);
        if (bytes[pieceBegin] === comma) ++pieceBegin;
        at = pieceBegin;
      } else at = end;
    }
  }
  return { facts: readFacts(scanner, begin, decoder), pieces };
}

/** Reads the data before the events and, if it is short, after them. */
function readFacts(scanner: Scanner, begin: number, decoder: TextDecoder): Record<string, string> {
  const head = decoder.decode(scanner.bytes.subarray(0, Math.min(begin, 1 << 16)));
  try {
    const all = JSON.parse(head + "]}") as { otherData?: Record<string, string> };
    return all.otherData ?? {};
  } catch {
    return {}; // a list of events alone, or facts that stand behind it
  }
}
