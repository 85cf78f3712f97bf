// Formats numbers for display.

/** Formats microseconds as `3.2 ms`. */
export function duration(us: number): string {
  const size = Math.abs(us);
  if (size === 0) return "0";
  if (size < 0.9995) return `${Math.round(us * 1000)} ns`;
  if (size < 999.5) return `${digits(us)} µs`;
  if (size < 999_500) return `${digits(us / 1e3)} ms`;
  return `${digits(us / 1e6)} s`;
}

/** Three significant digits. */
function digits(value: number): string {
  const size = Math.abs(value);
  return value.toFixed(size < 9.995 ? 2 : size < 99.95 ? 1 : 0).replace(/\.0+$/, "");
}

export function share(part: number, whole: number): string {
  if (!(whole > 0)) return "–";
  const percent = (100 * part) / whole;
  if (percent === 0) return "0 %";
  return percent < 0.1 ? "< 0.1 %" : `${percent.toFixed(percent < 9.95 ? 1 : 0)} %`;
}

export function count(number: number, one: string, many = one + "s"): string {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}

/** Names may have a megabyte; they are truncated. */
export function short(text: string, most = 120): string {
  if (text.length <= most) return text;
  const head = Math.floor(most * 0.6);
  return text.slice(0, head) + "…" + text.slice(text.length - (most - head - 1));
}
