// The URL fragment: the body, the open groups, and the selected node by name.

export interface Address { tab: string; body: string | null; node: string | null; open: string[] | null }

/** Maximum number of open groups in the address, because browsers truncate long ones. */
const mostOpen = 200;

export function readAddress(hash: string): Address {
  const values = new URLSearchParams(hash.replace(/^#/, ""));
  const open = values.get("open");
  return {
    tab: values.get("tab") ?? "graph", body: values.get("body"), node: values.get("node"),
    open: open === null ? null : open.split(",").filter(Boolean).map((key) => `.${key}`),
  };
}

export function writeAddress({ tab, body, node, open }: Address): string {
  const values = new URLSearchParams();
  if (tab !== "graph") values.set("tab", tab);
  if (body !== null) values.set("body", body);
  if (node !== null && node.length < 500) values.set("node", node);
  if (open !== null && open.length <= mostOpen) values.set("open", open.map((key) => key.slice(1)).join(","));
  return `#${values.toString().replace(/%2F/g, "/").replace(/%2C/g, ",").replace(/%3A/g, ":")}`;
}
