// The icons of the page, as lines.

const paths: Record<string, string> = {
  outline: "M3 5h4M3 10h4M3 15h4M10 5h7M10 10h7M10 15h7",
  details: "M3 4h14v12H3zM12 4v12",
  theme: "M10 3v2M10 15v2M3 10h2M15 10h2M5 5l1.4 1.4M13.6 13.6 15 15M5 15l1.4-1.4M13.6 6.4 15 5M10 7a3 3 0 1 0 0 6 3 3 0 0 0 0-6z",
  contrast: "M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM10 3v14M10 6.5h5.8M10 10h7M10 13.5h5.8",
  keys: "M7.6 7.6a2.4 2.4 0 1 1 3.3 2.2c-.6.3-.9.7-.9 1.4v.5M10 14.4v.1M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14z",
  save: "M10 3v9M6.5 8.5 10 12l3.5-3.5M4 15v2h12v-2",
  plus: "M10 4v12M4 10h12",
  minus: "M4 10h12",
  fit: "M4 8V4h4M12 4h4v4M16 12v4h-4M8 16H4v-4",
  close: "M5 5l10 10M15 5 5 15",
  search: "M9 4a5 5 0 1 0 0 10A5 5 0 0 0 9 4zM12.7 12.7 17 17",
};

export function icon(name: keyof typeof paths): SVGSVGElement {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", "0 0 20 20");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(space, "path");
  path.setAttribute("d", paths[name]);
  svg.append(path);
  return svg;
}

export function iconButton(name: keyof typeof paths, title: string, click: () => void): HTMLButtonElement {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "icon";
  button.title = title;
  button.setAttribute("aria-label", title);
  button.append(icon(name));
  button.addEventListener("click", click);
  return button;
}
