// Makes dist/page.html: one file with everything in it. With --tests: dist/test/*.mjs, which
// `node --test` runs.
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import * as esbuild from "esbuild";

const limit = 2 * 1024 * 1024;
const common = { bundle: true, target: "es2022", legalComments: "none", logLevel: "warning" };

async function bundled(entry) {
  const result = await esbuild.build({
    ...common, entryPoints: [entry], format: "iife", minify: true, write: false,
  });
  return result.outputFiles[0].text;
}

/** As the content of an element: what would end it, or begin a comment, must not stand in it. */
function inlined(text, element) {
  if (new RegExp(`</${element}|<!--`, "i").test(text))
    throw new Error(`the page's ${element} holds text that HTML reads as markup`);
  return text;
}

const hashOf = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
const packed = (text) => gzipSync(Buffer.from(text), { level: 9 }).toString("base64");

async function buildPage() {
  const styles = readdirSync("styles").filter((name) => name.endsWith(".css")).sort();
  const css = await esbuild.transform(
    styles.map((name) => readFileSync(`styles/${name}`, "utf8")).join("\n"),
    { loader: "css", minify: true });
  const style = inlined(css.code, "style");
  const script = inlined(await bundled("src/main.ts"), "script");
  const policy = [
    "default-src 'none'", `script-src ${hashOf(script)}`, `style-src ${hashOf(style)}`,
    "worker-src blob:", "connect-src 'self'", "img-src data: blob:", "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  const parts = {
    policy, style, script,
    elk: packed(readFileSync("node_modules/elkjs/lib/elk-worker.min.js", "utf8")),
    placement: packed(await bundled("src/layout/layout_worker.ts")),
  };
  const page = readFileSync("index.html", "utf8")
    .replace(/\{\{(\w+)\}\}/g, (_, name) => parts[name]);
  const bytes = Buffer.byteLength(page);
  if (bytes >= limit) throw new Error(`the page has ${bytes} bytes: it must stay below ${limit}`);
  mkdirSync("dist", { recursive: true });
  writeFileSync("dist/page.html", page);
  console.log(`dist/page.html: ${bytes} bytes, ${gzipSync(page).length} compressed`);
}

async function buildTests() {
  rmSync("dist/test", { recursive: true, force: true });
  const tests = readdirSync("src", { recursive: true }).filter((name) => name.endsWith(".test.ts"));
  await esbuild.build({
    ...common, entryPoints: tests.map((name) => `src/${name}`), format: "esm", platform: "node",
    outdir: "dist/test", outExtension: { ".js": ".mjs" },
  });
}

await (process.argv.includes("--tests") ? buildTests() : buildPage());
