// The worker that places large groups. ELK has a worker of its own.
import type { LayoutTask } from "./layout_task.js";
import { placeTask } from "./place_task.js";

const worker = self as unknown as {
  onmessage: ((event: MessageEvent<{ id: number; task: LayoutTask }>) => void) | null;
  postMessage(message: unknown, transfer: Transferable[]): void;
};

worker.onmessage = ({ data }) => {
  const result = placeTask(data.task);
  worker.postMessage({ id: data.id, result },
    [result.x, result.y, result.inX, result.outX, result.points].map((array) => array.buffer as ArrayBuffer));
};
