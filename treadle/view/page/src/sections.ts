// Loads the data of the page: embedded and compressed, or from the server that opened it.

export interface Sections {
  names: string[];
  load(name: string): Promise<Uint8Array>;
}

type Served = { from: string; token: string; names: string[] };

export function openSections(text: string): Sections {
  const parsed: unknown = JSON.parse(text);
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed))
    return { names: [], load: () => Promise.reject(new Error("this page holds no graph")) };
  if ("from" in parsed && "token" in parsed) return served(parsed as Served);
  const held = parsed as Record<string, string>;
  return { names: Object.keys(held), load: (name) => inflate(held[name]) };
}

function served({ from, token, names }: Served): Sections {
  return {
    names,
    async load(name) {
      const answer = await fetch(from + encodeURIComponent(name), { headers: { Authorization: `Bearer ${token}` } });
      if (!answer.ok) throw new Error(`the server has no ${name} (${answer.status})`);
      return new Uint8Array(await answer.arrayBuffer());
    },
  };
}

/** Base64 of gzip. Decoded in chunks, so that a text of hundreds of megabytes doesn't exist twice. */
async function inflate(base64: string): Promise<Uint8Array> {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  const size = 4 << 20;
  for (let begin = 0; begin < base64.length; begin += size) {
    const binary = atob(base64.slice(begin, begin + size));
    const bytes = new Uint8Array(binary.length);
    for (let i = 0; i < binary.length; ++i) bytes[i] = binary.charCodeAt(i);
    pieces.push(bytes);
  }
  const stream = new Blob(pieces).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
