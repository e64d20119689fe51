// Что проигрыватель говорит об одном токене и о его принятии, по-русски.
import { probLong } from "../../page/numbers.js";
import { short } from "../../page/glyphs.js";
import { byRatio } from "../../distributions/rows.js";
import { compared } from "../../page/printed.js";

const certain = (d) => d.p !== null && d.q !== null && d.p >= d.q;

export const TOKENS_RU = {
  kind: {
    accepted: "принят",
    rejected: "отклонён",
    not_reached: "не проверен",
    recovered: "выбран заново",
    bonus: "бонус",
    plain: "обычный",
    forced: "вынужденный",
    pending: "ждёт",
    lit: "проверен",
    hidden: "ещё не предложен",
  },
  mark: { accepted: "✓", rejected: "✗", not_reached: "·", recovered: "↻", bonus: "★", plain: "•", forced: "▮", pending: "…", lit: "?", hidden: "" },
  legend: [["accepted", "из черновика"], ["recovered", "после отклонения"], ["bonus", "когда принят весь черновик"],
    ["rejected", ""], ["not_reached", ""], ["pending", ""], ["plain", ""], ["forced", "задан формой ответа"]],
  forcedWhy: "другого токена грамматика здесь не допускает",
  forcedLabel: (text) => `${short(text, 40)}: вынужденный, другого токена грамматика здесь не допускает`,

  untested: { passed: "на его позиции принят другой", branch: "его ветвь не принята" },
  acceptance(d, chain = byRatio(d)) {
    if (d.verdict === "not_reached") return `не проверен: ${d.untested ? TOKENS_RU.untested[d.untested] : "отклонён один из токенов перед ним"}`;
    const accepted = d.verdict === "accepted";
    if (d.coupled)
      return accepted
        ? "у целевой модели с теми же костями выпал этот же токен: принят"
        : "у целевой модели с теми же костями выпал другой токен: отклонён";
    if (d.u === null) return accepted ? "первый выбор целевой модели тот же: принят" : "первый выбор целевой модели другой: отклонён";
    if (accepted && certain(d) && chain) return "p ≥ q: принят при любом u";
    return `${compared(d, chain ? "p/q" : "вероятность принятия")}: ${accepted ? "принят" : "отклонён"}`;
  },
  cardAcceptance(d, state, chain = byRatio(d)) {
    if (state === "pending") return ["ждёт", "целевую модель"];
    if (state === "lit") return ["проверен", "p известна, решения ещё нет"];
    if (d.verdict === "not_reached") return ["не проверен", d.untested ? TOKENS_RU.untested[d.untested] : "стоит за отклонённым"];
    const accepted = d.verdict === "accepted";
    const word = accepted ? "принят" : "отклонён";
    if (d.coupled) return [word, accepted ? "те же кости дали целевой модели этот же" : "те же кости дали целевой модели другой"];
    if (d.u === null) return [word, accepted ? "первый выбор целевой модели тот же" : "первый выбор целевой модели другой"];
    if (accepted && certain(d) && chain) return [word, "p ≥ q, при любом u"];
    return [word, compared(d, chain ? "p/q" : "вероятности", " ")];
  },
  settled(kind, by) {
    const drawn = { first: "первый выбор самой целевой модели", dice: "выпал самой целевой модели с теми же костями", u: "из остатка" };
    if (kind === "recovered") return ["выбран заново", drawn[by]];
    if (kind === "bonus")
      return ["бонус", by === "first" ? "следующий выбор целевой модели, бесплатно" : "взят из p, бесплатно: проход её уже посчитал"];
    return ["обычный", "только целевая модель: один проход — один токен"];
  },
  tokenLabel(text, kind, d, extra) {
    const name = `${short(text, 40)}: ${TOKENS_RU.kind[kind]}`;
    if (!d) return `${name}, ${extra}`;
    const u = d.u === null ? "" : `, u ${probLong(d.u)}`;
    return `${name}. p целевой модели ${probLong(d.p)}, q черновика ${probLong(d.q)}${u}; ${TOKENS_RU.acceptance(d)}`;
  },
};
