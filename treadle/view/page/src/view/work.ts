// What a picture does one after the other, and what it says meanwhile.
import { make } from "../elements/element.js";

/** Milliseconds after which it is said what is being done. */
const patience = 200;

export class Work {
  private readonly notice = make("div", { class: "graph-busy" });
  private last: Promise<void> = Promise.resolve();

  constructor(private readonly host: HTMLElement) {
    this.notice.setAttribute("role", "status");
    this.notice.hidden = true;
    host.append(this.notice);
  }

  /** Resolves when all is done that was asked for so far. */
  settled(): Promise<void> { return this.last; }

  later(what: string, action: () => Promise<void> | void): Promise<void> {
    this.last = this.last.then(async () => {
      this.host.setAttribute("aria-busy", "true");
      const timer = what === "" ? undefined : setTimeout(() => this.show(what), patience);
      try {
        await action();
      } finally {
        clearTimeout(timer);
        this.notice.hidden = true;
        this.host.removeAttribute("aria-busy");
      }
    });
    return this.last;
  }

  /** Says what comes, and waits until that is seen: what follows keeps the browser busy. */
  async say(what: string) {
    this.show(what);
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  }

  private show(what: string) {
    this.notice.hidden = false;
    this.notice.textContent = what;
  }
}
