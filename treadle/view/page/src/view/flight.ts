// Animates the camera, unless the user prefers reduced motion.
import type { Camera } from "./camera.js";

interface View { x: number; y: number; scale: number }

const duration = 240;
const reducesMotion = matchMedia("(prefers-reduced-motion: reduce)");

export class Flight {
  private frame = 0;
  constructor(private readonly camera: Camera, private readonly moved: () => void) {}

  stop() { cancelAnimationFrame(this.frame); }

  to(view: View) {
    this.stop();
    if (reducesMotion.matches) {
      this.camera.set(view);
      return this.moved();
    }
    const { x, y, scale, width, height } = this.camera;
    const from = { x: x + width / 2 / scale, y: y + height / 2 / scale };
    const goal = { x: view.x + width / 2 / view.scale, y: view.y + height / 2 / view.scale };
    const begin = performance.now();
    const step = (now: number) => {
      const t = Math.min(1, Math.max(0, (now - begin) / duration));
      const ease = 1 - (1 - t) ** 3;
      const at = scale * (view.scale / scale) ** ease;
      // The centre moves with the scale, so that the way looks straight.
      const share = Math.abs(view.scale / scale - 1) < 1e-6 ? ease : (1 / at - 1 / scale) / (1 / view.scale - 1 / scale);
      this.camera.set({
        x: from.x + (goal.x - from.x) * share - width / 2 / at, y: from.y + (goal.y - from.y) * share - height / 2 / at, scale: at,
      });
      this.moved();
      if (t < 1) this.frame = requestAnimationFrame(step);
    };
    this.frame = requestAnimationFrame(step);
  }
}
