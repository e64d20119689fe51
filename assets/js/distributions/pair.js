// The two laws as bars that can be pulled, and beside each the stacked identity: kept + resampled = p.
import { el, say } from "../page/dom.js";
import { identity, setWeight } from "./acceptance.js";
import { prob } from "../page/numbers.js";

const width = (x, scale = 1) => `${(100 * Math.max(0, Math.min(1, x / scale))).toFixed(2)}%`;
const piece = (kind) => el("i", { class: `ss-piece ss-${kind}` });

// What draws came to, as shares: kept, then resampled; whiskers where honest counts lie, a mark at p. `at` makes a share a length.
export function countRail({ kept, resampled, band, p }, at) {
  const part = (kind, x) => { const node = piece(kind); node.style.width = at(x); return node; };
  return el("span", { class: "ss-rail" },
    part("agreed", kept),
    part("residual", resampled),
    el("i", { class: "ss-whisker", style: { left: at(band[0]), width: at(band[1] - band[0]) } }),
    el("i", { class: "ss-pmark", style: { left: at(p) } }),
  );
}

// `change(p, q)` is called with both laws; without it the bars only show.
export function createLaws(words, change = null) {
  const body = el("div", { class: "ss-laws" }), sentence = el("p", { class: "ss-note", "aria-live": "off" });
  const heads = el("div", { class: "ss-lawrow ss-lawhead", "aria-hidden": "true" }, ...words.head.map((h) => el("span", { text: h })));
  let rows = [], p = [], q = [], scale = 1;

  function bar(i, law) {
    const parts = law === "p" ? [piece("agreed"), piece("owed")] : [piece("agreed"), piece("eager")], num = el("span", { class: "ss-num" });
    const rail = el("span", { class: "ss-rail" }, ...parts, change && el("b", { class: "ss-grip" }));
    const root = el(
      "div",
      change
        ? { class: `ss-lawbar ss-${law}`, role: "slider", tabindex: "0", "aria-valuemin": 0, "aria-valuemax": 100 }
        : { class: `ss-lawbar ss-${law}` },
      rail,
      num,
    );
    const move = (x) => { if (law === "p") p = setWeight(p, i, x); else q = setWeight(q, i, x); change(p, q); };
    if (change) {
      const at = (e) => { const box = rail.getBoundingClientRect(); return (e.clientX - box.left) / box.width; };
      root.addEventListener("pointerdown", (e) => {
        if (e.button) return;
        e.preventDefault();
        root.focus({ preventScroll: true });
        root.setPointerCapture(e.pointerId);
        move(at(e));
      });
      root.addEventListener("pointermove", (e) => { if (root.hasPointerCapture(e.pointerId)) move(at(e)); });
      root.addEventListener("keydown", (e) => {
        const now = (law === "p" ? p : q)[i];
        const to = {
          ArrowRight: now + 0.01,
          ArrowUp: now + 0.01,
          ArrowLeft: now - 0.01,
          ArrowDown: now - 0.01,
          PageUp: now + 0.1,
          PageDown: now - 0.1,
          Home: 0,
          End: 1,
        }[e.key];
        if (to === undefined || e.altKey || e.ctrlKey || e.metaKey) return;
        e.preventDefault();
        e.stopPropagation();
        move(e.shiftKey ? now + 10 * (to - now) : to);
      });
    }
    return { root, parts, num };
  }

  function row(i, name, others) {
    const pBar = bar(i, "p"), qBar = bar(i, "q"), kept = piece("agreed"), rest = piece("residual"), mark = el("i", { class: "ss-pmark" });
    const sum = el("span", { class: "ss-sum" }), error = el("span", { class: "ss-err" });
    const root = el("div", { class: "ss-lawrow" },
      el("span", { class: `ss-lawname${others ? " ss-others" : ""}`, text: name, dir: "auto" }),
      el("div", { class: "ss-lawpair" }, pBar.root, qBar.root),
      el("div", { class: "ss-stacked" }, el("span", { class: "ss-rail" }, kept, rest, mark), sum),
      error,
    );
    return { root, name, pBar, qBar, kept, rest, mark, sum, error };
  }

  // cats: {p, q, agreed}; names: what each is called.
  function draw(cats, names) {
    p = cats.map((c) => c.p);
    q = cats.map((c) => c.q);
    if (rows.length !== cats.length || rows.some((r, i) => r.name !== names[i])) {
      rows = cats.map((c, i) => row(i, names[i], c.others));
      body.replaceChildren(heads, ...rows.map((r) => r.root));
      body.style.setProperty("--ss-name", Math.min(16, Math.max(...names.map((n) => Array.from(n).length))));
    }
    scale = change ? 1 : Math.max(...p, ...q);
    const top = scale, id = identity(cats);   // one scale for both pictures of p
    id.rows.forEach((c, i) => {
      const r = rows[i];
      const lay = (b, law, x, second) => {
        b.parts[0].style.width = width(c.agreed, scale);
        b.parts[1].style.width = width(second, scale);
        say(b.num, `${prob(x)} ${law}`);
        b.root.style.setProperty("--ss-end", width(x, scale));
        if (change) {
          b.root.setAttribute("aria-label", words.slider(law, names[i]));
          b.root.setAttribute("aria-valuenow", (100 * x).toFixed(0));
          b.root.setAttribute("aria-valuetext", words.sliderValue(x));
        }
      };
      lay(r.pBar, "p", c.p, c.p - c.agreed);
      lay(r.qBar, "q", c.q, c.q - c.agreed);
      r.kept.style.width = width(c.agreed, top);
      r.rest.style.width = width(c.resampled, top);
      r.mark.style.left = width(c.p, top);
      say(r.sum, words.identity(c.agreed, c.resampled, c.p));
      say(r.error, words.identityError(Math.abs(c.error)));
    });
    return id;
  }
  return { root: el("div", {}, body, sentence), sentence, draw };
}
