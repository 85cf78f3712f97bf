import assert from "node:assert/strict";
import { test } from "node:test";
import { placeOfParting } from "./schedules.js";

test("two schedules part at their first difference, or where one ends", () => {
  assert.equal(placeOfParting(["a", "b@0", "c"], ["a", "b@1", "c"]), 1);
  assert.equal(placeOfParting(["a"], ["a", "b"]), 1);
  assert.equal(placeOfParting([], ["a"]), 0);
  assert.equal(placeOfParting(["a"], ["a"]), 1);
});
