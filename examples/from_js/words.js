// Calls a SavedModel from Node.
//
//     npm install && node words.js ../words
import { Model } from "./model.js";

function run(path) {
  const model = new Model(path);
  try {
    for (const signature of model.signatures) console.log(signature);
    const y = model.call("serving_default", "x", [1, 2, 3], "scaled");
    console.log(y.join(" "));
  } finally {
    model.close();
  }
}

if (process.argv.length !== 3) {
  console.error("usage: node words.js MODEL");
  process.exit(2);
}
try {
  run(process.argv[2]);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
