// Sanitizes texts and numbers of a model for display, since it may contain anything.

const unsafe = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

/** Returns the text with control characters and direction marks escaped, and shortened in the middle
    if it is too long. */
export function shown(text: string, most = 300): string {
  if (text.length > most) text = `${text.slice(0, Math.ceil(most * 0.7))}…${text.slice(text.length - Math.floor(most * 0.3))}`;
  return text.replace(unsafe, (c) => (c === "\n" || c === "\t" ? " " : `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`));
}


export function number(value: number | null | undefined): string {
  if (value === null || value === undefined || Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (Number.isInteger(value) && Math.abs(value) < 1e9) return value.toLocaleString("en");
  return value.toPrecision(4).replace(/\.?0+($|e)/, "$1");
}
