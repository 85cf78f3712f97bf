// Models that are freed when you close them, or else with the object.
import koffi from "koffi";
import * as c from "./c.js";

const FLOAT32 = 1;
const forgotten = new FinalizationRegistry(c.modelFree);

/** Calls `use` with an array of `elements`. */
function withFloats(elements, use) {
  const array = [null];
  c.arrayMake(FLOAT32, 1, [elements.length], array);
  try {
    new Float32Array(koffi.view(c.arrayMutableData(array[0]), 4 * elements.length)).set(elements);
    return use(array[0]);
  } finally {
    c.arrayFree(array[0]);
  }
}

function toFloats(array) {
  const dtype = c.arrayDtype(array);
  if (dtype !== FLOAT32) throw new Error(`the array has dtype ${dtype}, expected 1 (float32)`);
  return new Float32Array(koffi.view(c.arrayData(array), 4 * c.arrayCount(array))).slice();
}

export class Model {
  constructor(path) {
    const model = [null];
    c.modelLoad(path, null, model);
    this.handle = model[0];
    forgotten.register(this, this.handle, this);
    const count = c.modelNumSignatures(this.handle);
    this.signatures = Array.from({ length: count }, (_, i) => c.modelSignature(this.handle, i));
  }

  close() {
    if (this.handle === null) return;
    forgotten.unregister(this);
    c.modelFree(this.handle);
    this.handle = null;
  }

  /** Calls a signature with its only input, and returns one of its outputs. */
  call(signature, input, x, output) {
    const result = [null];
    withFloats(x, (array) =>
      c.modelCall(this.handle, signature, 1, [input], [array], 1, [output], result),
    );
    try {
      return toFloats(result[0]);
    } finally {
      c.arrayFree(result[0]);
    }
  }
}
