// p and q as bars, one pair for each token, that can be pulled; beside each pair the identity accepted + resampled = p as a stacked bar.
import { el, say } from "../page/dom.js";
import { prob } from "../page/numbers.js";
import { identity, setWeight } from "./acceptance.js";

const width = (x, scale = 1) => `${(100 * Math.max(0, Math.min(1, x / scale))).toFixed(2)}%`;
const piece = (kind) => el("i", { class: `ss-piece ss-${kind}` });

// What many draws came to, as shares of them: accepted, then resampled; a whisker over the band in which 95 % of the counts lie if one draws
// from p itself; a mark at p. at(share): its length on the page.
export function countRail({ accepted, resampled, band, p }, at) {
  const part = (kind, x) => {
    const node = piece(kind);
    node.style.width = at(x);
    return node;
  };
  return el("span", { class: "ss-rail" },
    part("agreed", accepted),
    part("residual", resampled),
    el("i", { class: "ss-whisker", style: { left: at(band[0]), width: at(band[1] - band[0]) } }),
    el("i", { class: "ss-pmark", style: { left: at(p) } }),
  );
}

// Where a key moves the end of a bar that stands at `now`; undefined for other keys.
function keyTarget(key, now) {
  const step = { ArrowRight: 0.01, ArrowUp: 0.01, ArrowLeft: -0.01, ArrowDown: -0.01, PageUp: 0.1, PageDown: -0.1 }[key];
  return step === undefined ? { Home: 0, End: 1 }[key] : now + step;
}

// Makes a bar a slider for pointer and keyboard. now(): its value. move(value): the reader pulled it.
function makeSlider(root, rail, now, move) {
  const at = (e) => {
    const box = rail.getBoundingClientRect();
    return (e.clientX - box.left) / box.width;
  };
  root.addEventListener("pointerdown", (e) => {
    if (e.button) return;
    e.preventDefault();
    root.focus({ preventScroll: true });
    root.setPointerCapture(e.pointerId);
    move(at(e));
  });
  root.addEventListener("pointermove", (e) => { if (root.hasPointerCapture(e.pointerId)) move(at(e)); });
  root.addEventListener("keydown", (e) => {
    const to = keyTarget(e.key, now());
    if (to === undefined || e.altKey || e.ctrlKey || e.metaKey) return;
    e.preventDefault();
    e.stopPropagation();
    move(e.shiftKey ? now() + 10 * (to - now()) : to);
  });
}

// The bar of p or of q for one token. slider: {now, move}, or null where the bar only shows.
function createBar(which, slider) {
  const parts = [piece("agreed"), piece(which === "p" ? "pmore" : "qmore")], number = el("span", { class: "ss-num" });
  const rail = el("span", { class: "ss-rail" }, ...parts, slider && el("b", { class: "ss-grip" }));
  const role = slider ? { role: "slider", tabindex: "0", "aria-valuemin": 0, "aria-valuemax": 100 } : {};
  const root = el("div", { class: `ss-distbar ss-${which}`, ...role }, rail, number);
  if (slider) makeSlider(root, rail, slider.now, slider.move);
  // x: the probability; agreed: the part of it that p and q have in common.
  function fill(x, agreed, scale) {
    parts[0].style.width = width(agreed, scale);
    parts[1].style.width = width(x - agreed, scale);
    say(number, `${prob(x)} ${which}`);
    root.style.setProperty("--ss-end", width(x, scale));
  }
  return { root, fill };
}

// The row of one token. sliderFor(which): {now, move} or null.
function createRow(words, name, others, sliderFor) {
  const bars = { p: createBar("p", sliderFor("p")), q: createBar("q", sliderFor("q")) };
  const accepted = piece("agreed"), resampled = piece("residual"), mark = el("i", { class: "ss-pmark" });
  const sum = el("span", { class: "ss-sum" }), error = el("span", { class: "ss-err" });
  const root = el("div", { class: "ss-distrow" },
    el("span", { class: `ss-distname${others ? " ss-others" : ""}`, text: name, dir: "auto" }),
    el("div", { class: "ss-distpair" }, bars.p.root, bars.q.root),
    el("div", { class: "ss-stacked" }, el("span", { class: "ss-rail" }, accepted, resampled, mark), sum),
    error,
  );
  // c: a row of the identity.
  function fill(c, scale) {
    for (const which of ["p", "q"]) {
      const bar = bars[which];
      bar.fill(c[which], c.agreed, scale);
      if (!sliderFor(which)) continue;
      bar.root.setAttribute("aria-label", words.slider(which, name));
      bar.root.setAttribute("aria-valuenow", (100 * c[which]).toFixed(0));
      bar.root.setAttribute("aria-valuetext", words.sliderValue(c[which]));
    }
    accepted.style.width = width(c.agreed, scale);
    resampled.style.width = width(c.resampled, scale);
    mark.style.left = width(c.p, scale);
    say(sum, words.identity(c.agreed, c.resampled, c.p));
    say(error, words.identityError(Math.abs(c.error)));
  }
  return { root, name, fill };
}

// change(p, q): a bar was pulled; without it the bars only show. draw(cats: [{p, q, agreed}], names: of the tokens) -> the identity.
export function createPair(words, change = null) {
  const body = el("div", { class: "ss-dists" }), sentence = el("p", { class: "ss-note", "aria-live": "off" });
  const heads = el("div", { class: "ss-distrow ss-disthead", "aria-hidden": "true" }, ...words.head.map((h) => el("span", { text: h })));
  const now = { p: [], q: [] };
  let rows = [];

  const sliderFor = (i) => (which) =>
    change && {
      now: () => now[which][i],
      move(x) {
        now[which] = setWeight(now[which], i, x);
        change(now.p, now.q);
      },
    };

  function draw(cats, names) {
    now.p = cats.map((c) => c.p);
    now.q = cats.map((c) => c.q);
    if (rows.length !== cats.length || rows.some((r, i) => r.name !== names[i])) {
      rows = cats.map((c, i) => createRow(words, names[i], c.others, sliderFor(i)));
      body.replaceChildren(heads, ...rows.map((r) => r.root));
      body.style.setProperty("--ss-name", Math.min(16, Math.max(...names.map((n) => Array.from(n).length))));
    }
    const scale = change ? 1 : Math.max(...now.p, ...now.q), id = identity(cats);   // bars that are pulled reach to 1
    id.rows.forEach((c, i) => rows[i].fill(c, scale));
    return id;
  }
  return { root: el("div", {}, body, sentence), sentence, draw };
}
