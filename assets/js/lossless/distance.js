// The chart below the histogram: how far the shares of n draws are from p, falling as n grows (or not, under a wrong rule).
import { distance, distributionOf, expectedDistance } from "../distributions/acceptance.js";
import { area, frame, label, line, logarithmic } from "../page/charts.js";
import { svg } from "../page/dom.js";
import { probLong, upTo } from "../page/numbers.js";

export const SIZES = [100, 1000, 10000, 100000, 1000000];
export const FIRST = SIZES[0];
const LAST = SIZES.at(-1);

// Pure: the numbers of draws after which the distance is written down, ten in each decade.
export const CHECKPOINTS = Array.from({ length: 41 }, (_, i) => Math.round(FIRST * 10 ** (i / 10)));

// Pure: the band of the distance after n draws, from the band of sqrt(n) * distance after 100 draws and in the limit.
export function bandAt(bands, n) {
  const t = Math.min(1, Math.log10(n / FIRST)), mix = (k) => (bands.first[k] * (1 - t) + bands.limit[k] * t) / Math.sqrt(n);
  return [mix(0), mix(1)];
}

export const inFull = (n) => n.toLocaleString(document.documentElement.lang || "en");

const tone = (rule) => (rule === "right" ? "good" : "wrongtrack");

// What draws from p itself do: the band, the expected distance and their names. Returns the heights that names have taken.
function paintExpected(g, at, box, p, bands, w) {
  const upper = CHECKPOINTS.map((n) => at(n, bandAt(bands, n)[1])), lower = CHECKPOINTS.map((n) => at(n, bandAt(bands, n)[0]));
  const expected = CHECKPOINTS.map((n) => at(n, expectedDistance(n, p)));
  g.append(area([...upper, ...lower.reverse()], "ss-bandarea"), line(expected, "ss-expected"));
  const name = at(1300, expectedDistance(1300, p) / 4.4), bandName = at(1, expectedDistance(160000, p) / 5)[1];
  g.append(label(...name, w.expected, "ss-soft"), label(box.right, bandName, w.bandWord, "ss-soft", "end"));
  return [name[1]];
}

// The distance at which a wrong rule stops falling.
function paintFloor(g, box, floor, name, taken) {
  taken.push(Math.max(box.top + 9, box.y(floor) - 7));
  g.append(
    svg("line", { class: "ss-floorline", x1: box.left, x2: box.right, y1: box.y(floor), y2: box.y(floor) }),
    label(box.right, taken.at(-1), name, "ss-bad", "end"),
  );
}

// Rules tried before are named at the end of their lines, each name below those that are there.
function paintNames(g, box, names, taken) {
  for (const [x, y, name] of names.sort((a, b) => a[1] - b[1])) {
    let low = y + 14;
    while (taken.some((height) => Math.abs(height - low) < 13)) low += 2;
    taken.push(low);
    g.append(label(Math.max(x, box.left + 150), Math.min(box.bottom - 4, low), name, "ss-soft", "end"));
  }
}

function paint(g, box, { cats, rule, tracks, bands }, w) {
  const p = cats.map((c) => c.p), clip = (y) => Math.min(box.bottom, Math.max(box.top, y));
  const at = (n, d) => [box.x(n), clip(box.y(Math.max(d, 1e-5)))];
  const taken = paintExpected(g, at, box, p, bands, w), before = [];
  for (const [name, track] of Object.entries(tracks).filter(([, t]) => t.length)) {
    const now = name === rule, floor = distance(distributionOf(name, cats), p), end = at(...track.at(-1));
    if (now && name !== "right" && floor > 1e-4) paintFloor(g, box, floor, w.floor(w.rules[name], floor), taken);
    g.append(line(track.map(([n, d]) => at(n, d)), `ss-track ss-${tone(name)}${now ? "" : " ss-dim"}`));
    if (now) g.append(svg("circle", { class: `ss-head ss-${tone(name)}`, cx: end[0], cy: end[1], r: 4.5 }));
    else before.push([...end, w.rules[name]]);
  }
  paintNames(g, box, before, taken);
}

// state: {cats, rule: the one in play, tracks: {rule: [[n, distance], ...]}, bands}. -> {node, table} for a chartBox.
export function distanceChart(width, state, w) {
  const drawn = Object.entries(state.tracks).filter(([, track]) => track.length), distances = drawn.flatMap(([, track]) => track.map(([, d]) => d));
  const top = Math.max(bandAt(state.bands, FIRST)[1], ...distances, 0.05) * 1.5;
  const node = frame({
    width,
    height: 270,
    margin: { l: 52, r: 12 },
    label: w.distanceLabel(drawn.map(([name, track]) => w.distanceRow(w.rules[name], ...track.at(-1)))),
    x: {
      make: (range) => logarithmic([FIRST, LAST], range),
      ticks: SIZES,
      label: (t) => `10${"²³⁴⁵⁶"[Math.log10(t) - 2]}`,
      title: w.axisN,
    },
    y: {
      make: (range) => logarithmic([1e-4, Math.max(0.2, top)], range),
      ticks: [0.0001, 0.001, 0.01, 0.1],
      label: (t) => upTo(t, 4),
    },
    paint: (g, box) => paint(g, box, state, w),
  });
  const row = (name, [n, d]) => [w.rules[name], inFull(n), probLong(d), bandAt(state.bands, n).map(probLong).join(" – ")];
  const rows = drawn.flatMap(([name, track]) => track.filter(([n]) => SIZES.includes(n)).map((point) => row(name, point)));
  return { node, table: { caption: w.distance, head: w.distanceHead, rows } };
}
