// The buttons that move through a run: step, jump, play.
import { button, make } from "../elements/element.js";

/** Firings a second. */
const speeds = [0.5, 1, 2, 4, 10, 30];

export class Player {
  readonly element = make("div", { class: "part-bar player" });
  private readonly slider = make("input", { class: "player-slider", label: "Firing" });
  private readonly place = make("output", { class: "player-place" });
  private readonly playButton = button("▶ Play", "Fire by itself (space)", () => this.toggle());
  private readonly speed = make("select", { label: "Speed", title: "Firings a second" });
  private timer = 0;
  private at = 0;

  constructor(
    private readonly length: number,
    private readonly isCut: boolean,
    private readonly go: (at: number) => void,
  ) {
    this.slider.type = "range";
    this.slider.min = "0";
    this.slider.max = String(length);
    this.slider.value = "0";
    this.slider.addEventListener("input", () => this.go(Number(this.slider.value)));
    for (const each of speeds) {
      const option = make("option", {}, `${each} a second`);
      option.value = String(each);
      option.selected = each === 2;
      this.speed.append(option);
    }
    this.speed.addEventListener("change", () => {
      if (this.timer) this.play();
    });
    this.element.append(
      named(button("|◀", "To the beginning (Home)", () => this.move(0)), "To the beginning"),
      named(button("◀", "A firing back (left arrow)", () => this.move(this.at - 1)), "A firing back"),
      named(button("▶", "The next firing (right arrow)", () => this.move(this.at + 1)), "The next firing"),
      named(button("▶|", "To the end (End)", () => this.move(length)), "To the end"),
      this.playButton, this.speed, this.slider, this.place,
    );
  }

  /** Shows the position in the run. */
  set(at: number): void {
    this.at = at;
    this.slider.value = String(at);
    this.slider.setAttribute("aria-valuetext", `firing ${at} of ${this.length}`);
    this.place.textContent = `${at} of ${this.length}${this.isCut ? " and more" : ""}`;
    if (at >= this.length) this.pause();
  }

  /** A manual step stops playback. */
  private move(at: number): void {
    this.pause();
    this.go(at);
  }

  toggle(): void {
    if (this.timer) return this.pause();
    if (this.at >= this.length) this.go(0);
    this.play();
  }

  private play(): void {
    clearInterval(this.timer);
    this.timer = window.setInterval(() => this.go(this.at + 1), 1000 / Number(this.speed.value));
    this.playButton.textContent = "❚❚ Pause";
  }

  pause(): void {
    clearInterval(this.timer);
    this.timer = 0;
    this.playButton.textContent = "▶ Play";
  }

  /** Returns true if it handled the key. */
  key(event: KeyboardEvent): boolean {
    if (event.ctrlKey || event.metaKey || event.altKey) return false;
    const isOnSlider = event.target === this.slider;
    const isOnControl = event.target instanceof Element && event.target.closest("button, select, a, summary");
    const goals: Record<string, number> = {
      ArrowLeft: this.at - 1, ArrowRight: this.at + 1, Home: 0, End: this.length,
      PageUp: this.at - 10, PageDown: this.at + 10,
    };
    if (event.key === " " && !isOnControl) this.toggle();
    else if (event.key in goals && !isOnSlider && !(event.target instanceof HTMLSelectElement)) this.move(goals[event.key]);
    else return false;
    return true;
  }
}

function named(element: HTMLButtonElement, label: string): HTMLButtonElement {
  element.setAttribute("aria-label", label);
  return element;
}
