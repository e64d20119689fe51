// What another u would have done: a slider for u, split at the acceptance probability, and the sentence that it gives.
import { el, say } from "../page/dom.js";
import { probLong } from "../page/numbers.js";

// change(u): the slider was moved. w: the words of this part.
export function createUniform(w, change) {
  const moved = () => change(Number(slider.value));
  const slider = el("input", { type: "range", class: "ss-u", min: 0, max: 1, step: 0.001, "aria-label": w.label, oninput: moved });
  const value = el("output", { class: "ss-uvalue" }), outcome = el("p", { class: "ss-say2", "aria-live": "polite" });
  const recorded = el("p", { class: "ss-note" });
  const root = el("section", { class: "ss-wu" },
    el("h3", { text: w.title }),
    el("p", { class: "ss-sub", text: w.how }),
    el("div", { class: "ss-urow" }, slider, value),
    outcome,
    recorded,
  );

  function sentence(judged, u) {
    if (judged.ratio === null) return w.impossible;
    if (judged.certain) return w.certain(judged.ratio);
    return w[judged.verdict](u, judged.ratio);
  }
  // judged: what sandbox.judge says of this u. d: the drafted token as recorded. verify: the run's kind of verification.
  function draw(u, judged, d, verify) {
    const said = sentence(judged, u);
    slider.value = u;
    slider.style.setProperty("--ss-keep", `${(Math.min(1, judged.ratio ?? 0) * 100).toFixed(2)}%`);
    slider.setAttribute("aria-valuetext", said);
    say(value, `u ${probLong(u)}`);
    say(outcome, said);
    outcome.dataset.kind = judged.verdict ?? "";
    const otherRule = verify === "block" || verify === "typical";
    const was = d.coupled ? w.wasDice : d.u === null ? w.wasGreedy : w.was(d.u);
    say(recorded, [was, otherRule ? w.rule : ""].filter(Boolean).join(" "));
  }
  return { root, draw };
}
