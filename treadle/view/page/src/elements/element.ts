// Creates elements. Texts become text nodes, so names of a model are never parsed as markup.

type Child = Node | string | null | false;

export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K, properties: { class?: string; title?: string; label?: string } = {}, ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  if (properties.class) element.className = properties.class;
  if (properties.title) element.title = properties.title;
  if (properties.label) element.setAttribute("aria-label", properties.label);
  for (const child of children) if (child !== null && child !== false) element.append(child);
  return element;
}

export function button(text: string, title: string, click: () => void): HTMLButtonElement {
  const element = make("button", { class: "part-button", title }, text);
  element.type = "button";
  element.addEventListener("click", click);
  return element;
}

/** A button that is on or off. */
export function toggle(
  text: string, title: string, isOn: boolean, change: (isOn: boolean) => void,
): HTMLButtonElement {
  const element = button(text, title, () => {
    isOn = !isOn;
    element.setAttribute("aria-pressed", String(isOn));
    change(isOn);
  });
  element.setAttribute("aria-pressed", String(isOn));
  return element;
}
