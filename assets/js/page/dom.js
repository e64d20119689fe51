// Building nodes. Text only ever enters through textContent: model text is hostile text.

// An element. attrs: attributes, `text`, `style`, and listeners as `onclick` and the like; null, undefined and false are left out.
export function el(tag, attrs = {}, ...children) {
  const node = document.createElement(tag);
  set(node, attrs);
  node.append(...children.filter((c) => c !== null && c !== undefined && c !== false));
  return node;
}

export function set(node, attrs) {
  for (const key in attrs) {
    const value = attrs[key], text = value === true ? "" : value;
    if (value === null || value === undefined || value === false) node.removeAttribute(key);
    else if (key === "text") node.textContent = value;
    else if (key === "style") for (const k in value) node.style.setProperty(k, value[k]);
    else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (node.getAttribute(key) !== String(text)) node.setAttribute(key, text);
  }
  return node;
}

export function svg(tag, attrs = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const key in attrs) {
    const value = attrs[key];
    if (value === null || value === undefined) continue;
    if (key === "text") node.textContent = value;
    else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, String(value));
  }
  node.append(...children);
  return node;
}

// Line icons, drawn rather than typed: fonts disagree about the media symbols.
const ICONS = {
  first: "M4 3v10M13 3 6 8l7 5z",
  back: "M11 3 4 8l7 5z",
  play: "M4 2.5v11l9-5.5z",
  pause: "M4 3h3v10H4zM9 3h3v10H9z",
  forward: "M5 3l7 5-7 5z",
  last: "M12 3v10M3 3l7 5-7 5z",
};
export function icon(name) {
  return svg("svg", { viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true", class: "ss-icon" }, svg("path", { d: ICONS[name] }));
}

// Sets a text only where it changed: a step must be cheap, and screen readers must not read the same twice.
export function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// Sets the children only where they changed: those of `nodes` that are not null, in this order.
export function arrange(parent, ...nodes) {
  const wanted = nodes.filter(Boolean), { childNodes } = parent;
  if (wanted.length !== childNodes.length || wanted.some((n, i) => n !== childNodes[i])) parent.replaceChildren(...wanted);
}

// Roving focus: one of the items that match `selector` is in the tab order; Up and Down move it (Left and Right belong to the player).
export function rove(container, selector) {
  container.addEventListener("keydown", (e) => {
    const move = { ArrowDown: 1, ArrowUp: -1 }[e.key];
    if (!move || e.altKey || e.ctrlKey || e.metaKey) return;
    const items = [...container.querySelectorAll(selector)], at = items.indexOf(document.activeElement);
    if (at < 0) return;
    e.preventDefault();
    e.stopPropagation();
    items[Math.max(0, Math.min(items.length - 1, at + move))].focus();
  });
  container.addEventListener("focusin", (e) => {
    const item = e.target.closest(selector);
    if (!item) return;
    for (const other of container.querySelectorAll(`${selector}[tabindex="0"]`)) if (other !== item) other.setAttribute("tabindex", "-1");
    item.setAttribute("tabindex", "0");
  });
}
