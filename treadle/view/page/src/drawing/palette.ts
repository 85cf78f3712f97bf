// The colors of a graph: light, dark and high contrast. Those of the page are in styles/.

export type Theme = "light" | "dark";

export interface Palette {
  background: string;
  text: string;
  muted: string;
  box: string;
  boxLine: string;
  group: string[];
  groupLine: string;
  loop: string;
  loopLine: string;
  closed: string;
  edge: string;
  control: string;
  back: string;
  soft: string;
  chain: string;
  accent: string;
  danger: string;
  added: string;
  removed: string;
  changed: string;
  ready: string;
  hot: string;
  /** Tints and lines by hue. */
  hues: { fill: string; line: string }[];
}

/** Hues in degrees: what is computed, elementwise, moved, state, flow, inputs and outputs, weights. */
const degrees = [214, 186, 250, 34, 292, 150, 220, 12, 84, 328, 60, 200];

function hues(saturation: number, fill: number, line: number): Palette["hues"] {
  return degrees.map((hue, i) => ({
    fill: hsl(hue, i === 6 ? 8 : saturation, fill), line: hsl(hue, i === 6 ? 8 : saturation * 0.75, line),
  }));
}

const light: Palette = {
  background: "#fbfbfa", text: "#1c1f23", muted: "#676d76", box: "#ffffff", boxLine: "#b9bec6",
  group: ["#f3f4f5", "#eceef0", "#e5e8eb"], groupLine: "#cdd1d7", loop: "#f3eff8", loopLine: "#a68fc4",
  closed: "#ffffff", edge: "#9aa1ab", control: "#b7a58a", back: "#8a5fbf", soft: "#6fa8a0", chain: "#c78fa6",
  accent: "#1f6feb", danger: "#d1333f", added: "#1f8a4c", removed: "#c93a3a", changed: "#b57614",
  ready: "#c98a00", hot: "#d6451b", hues: hues(58, 94, 62),
};

const dark: Palette = {
  background: "#16181b", text: "#e7e9ec", muted: "#979da6", box: "#24272c", boxLine: "#4c525b",
  group: ["#1c1f23", "#212529", "#272b30"], groupLine: "#3a3f47", loop: "#241f2e", loopLine: "#7f64a5",
  closed: "#262a2f", edge: "#6b737e", control: "#7d6f58", back: "#b08ae0", soft: "#5b8f88", chain: "#a06d84",
  accent: "#5a9bff", danger: "#ff6b72", added: "#4cc27f", removed: "#f07070", changed: "#e0a84a",
  ready: "#f0c14b", hot: "#ff7a4d", hues: hues(32, 19, 48),
};

const contrastLight: Palette = {
  ...light, background: "#ffffff", text: "#000000", muted: "#2b2b2b", boxLine: "#000000",
  groupLine: "#000000", loopLine: "#4b1a8a", edge: "#333333", control: "#6b4a00", back: "#5a14b8",
  soft: "#00665a", chain: "#8a0046", accent: "#0038b8", danger: "#b00010", hues: hues(70, 94, 26),
};

const contrastDark: Palette = {
  ...dark, background: "#000000", text: "#ffffff", muted: "#dddddd", box: "#0b0b0b", boxLine: "#ffffff",
  groupLine: "#ffffff", loopLine: "#d3b3ff", group: ["#000000", "#0c0c0c", "#141414"], closed: "#0b0b0b",
  edge: "#cccccc", control: "#ffcf70", back: "#d3b3ff", soft: "#7ff0e0", chain: "#ffa0c8",
  accent: "#7db4ff", danger: "#ff8088", hues: hues(60, 12, 78),
};

export function paletteOf(theme: Theme, contrast: boolean): Palette {
  if (contrast) return theme === "light" ? contrastLight : contrastDark;
  return theme === "light" ? light : dark;
}

function hsl(hue: number, saturation: number, lightness: number): string {
  const s = saturation / 100;
  const l = lightness / 100;
  const channel = (n: number) => {
    const k = (n + hue / 30) % 12;
    const value = l - s * Math.min(l, 1 - l) * Math.max(-1, Math.min(k - 3, 9 - k, 1));
    return Math.round(255 * value).toString(16).padStart(2, "0");
  };
  return `#${channel(0)}${channel(8)}${channel(4)}`;
}

/** A colour as WebGL reads its bytes: red first. */
export function packed(color: string, alpha = 1): number {
  const rgb = Number.parseInt(color.slice(1), 16);
  const r = rgb >> 16;
  const g = (rgb >> 8) & 255;
  const b = rgb & 255;
  return ((Math.round(alpha * 255) << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

export function unpacked(color: number): string {
  return `rgba(${color & 255},${(color >> 8) & 255},${(color >> 16) & 255},${(color >>> 24) / 255})`;
}

export function mixed(a: string, b: string, share: number): string {
  const x = Number.parseInt(a.slice(1), 16);
  const y = Number.parseInt(b.slice(1), 16);
  const channel = (shift: number) => {
    const from = (x >> shift) & 255;
    return Math.round(from + (((y >> shift) & 255) - from) * share).toString(16).padStart(2, "0");
  };
  return `#${channel(16)}${channel(8)}${channel(0)}`;
}
