// The width of texts in the font of a graph.

const sans = "Inter, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Liberation Sans', system-ui, sans-serif";
export const fonts = { strong: `600 12px ${sans}`, plain: `11px ${sans}`, small: `9.5px ${sans}` };
export type Font = keyof typeof fonts;

const widths = new Map<string, number>();
let context: CanvasRenderingContext2D | null = null;

export function textWidth(text: string, font: Font): number {
  const key = font + text;
  let width = widths.get(key);
  if (width !== undefined) return width;
  // An estimate is enough without a page, as in tests.
  if (typeof document === "undefined") return text.length * 6.4;
  context ??= document.createElement("canvas").getContext("2d");
  if (!context) return text.length * 6.4;
  context.font = fonts[font];
  width = context.measureText(text).width;
  if (widths.size > 50_000) widths.clear();
  widths.set(key, width);
  return width;
}
