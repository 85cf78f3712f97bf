// Sequential tasks of a picture, and their progress messages.
import { make } from "../elements/element.js";

/** Milliseconds after which the progress message appears. */
const patience = 200;

export class Work {
  private readonly notice = make("div", { class: "graph-busy" });
  private last: Promise<void> = Promise.resolve();

  constructor(private readonly host: HTMLElement) {
    this.notice.setAttribute("role", "status");
    this.notice.hidden = true;
    host.append(this.notice);
  }

  /** Resolves when all tasks so far are done. */
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

  /** Shows the message of the next task and waits until it is visible, because the task blocks the browser. */
  async say(what: string) {
    this.show(what);
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  }

  private show(what: string) {
    this.notice.hidden = false;
    this.notice.textContent = what;
  }
}
