// Begins the page: reads the graph, shows it, then loads the rest.
import { PageApp } from "./app.js";
import { warmUp } from "./view/graph_view.js";
import { decodeScene, SceneError } from "./scene/scene.js";
import { openSections } from "./sections.js";

async function begin(host: HTMLElement) {
  const sections = openSections(document.getElementById("treadle-sections")?.textContent ?? "");
  warmUp();
  const scene = decodeScene(await sections.load("scene"));
  const app = new PageApp(host, scene, sections.names);
  await app.finish(sections);
}

const host = document.getElementById("app") as HTMLElement;
begin(host).catch((error: unknown) => {
  const message = document.createElement("p");
  message.className = "failed";
  message.setAttribute("role", "alert");
  message.textContent = error instanceof SceneError || error instanceof Error ? error.message : String(error);
  host.replaceChildren(message);
});
