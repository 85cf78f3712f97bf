// Dark or light theme, and contrast: those of the system, unless the user chose others on this
// page.
import { paletteOf, type Palette } from "./drawing/palette.js";

const dark = matchMedia("(prefers-color-scheme: dark)");
const more = matchMedia("(prefers-contrast: more)");

export class ThemeChoice {
  private theme: "light" | "dark" | null = null;
  private contrast: boolean | null = null;
  private readonly listeners: ((palette: Palette) => void)[] = [];

  constructor() {
    for (const query of [dark, more]) query.addEventListener("change", () => this.apply());
    this.apply();
  }
  isDark(): boolean { return (this.theme ?? (dark.matches ? "dark" : "light")) === "dark"; }
  hasContrast(): boolean { return this.contrast ?? more.matches; }
  palette(): Palette { return paletteOf(this.isDark() ? "dark" : "light", this.hasContrast()); }
  toggleTheme() { this.theme = this.isDark() ? "light" : "dark"; this.apply(); }
  toggleContrast() { this.contrast = !this.hasContrast(); this.apply(); }
  onChange(listener: (palette: Palette) => void) { this.listeners.push(listener); }

  private apply() {
    const { dataset } = document.documentElement;
    dataset.theme = this.isDark() ? "dark" : "light";
    dataset.contrast = this.hasContrast() ? "more" : "normal";
    for (const listener of this.listeners) listener(this.palette());
  }
}
