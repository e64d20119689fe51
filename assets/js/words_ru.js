// Всё, что говорит проигрыватель, по-русски. Ключи те же, что в words_en.js.
import { capital, fixed, inRussian, probLong, upTo } from "./numbers.js";
import { quoted, short } from "./glyphs.js";
import { byRatio } from "./bars_model.js";
import { apart, compared } from "./printed.js";
import { likelierDraft } from "./steps.js";

const { ms, secs } = inRussian;
const certain = (d) => d.p !== null && d.q !== null && d.p >= d.q;
const plural = (n, one, few, many) => (n % 10 === 1 && n % 100 !== 11 ? one : n % 10 >= 2 && n % 10 <= 4 && (n % 100 < 12 || n % 100 > 14) ? few : many);
const tokens = (n) => `${n} ${plural(n, "токен", "токена", "токенов")}`;
const list = (parts) => parts.join(", ");

export const RU = {
  kind: { accepted: "принят", rejected: "отвергнут", not_reached: "не проверен", recovered: "выбран заново", bonus: "бонус", plain: "обычный", pending: "ждёт", lit: "проверен", hidden: "ещё не предложен" },
  mark: { accepted: "✓", rejected: "✗", not_reached: "·", recovered: "↻", bonus: "★", plain: "•", pending: "…", lit: "?", hidden: "" },
  legend: [["accepted", "предложен и оставлен"], ["recovered", "после отказа"], ["bonus", "когда принят весь черновик"],
    ["rejected", ""], ["not_reached", ""], ["pending", ""], ["plain", ""]],

  aria: { result: "Итог", legend: "Условные знаки: нажмите, чтобы выделить такие токены в тексте", filter: (kind) => `Показать в тексте только «${kind}»`, cards: "Токены этого раунда в порядке проверки", text: "Полученный текст по токенам" },
  soFar: (x, r) => `${x} к раунду ${r}`,
  given: "Дано:", prompt: "Вопрос:", allWords: "Все слова",
  offlineNote: "Сохранено из Specscope: одна записанная генерация, соединение не нужно.",
  settingsTitle: "Настройки этого метода",
  settings: { tree: ["Форма черновика", "chain: одна цепочка догадок. auto: больше ветвей, где черновик не уверен. 3x2x1: три догадки на следующий токен, за каждой две, потом одна"], vocab: ["Словарь", "intersect: предлагать и с другим токенизатором"], tree_tokens: ["Догадок за раунд", "в дереве, по всем ветвям"], tree_depth: ["Как далеко вперёд", "уровней дерева, если форма их не задаёт"], tree_top_k: ["Ветвей", "сколько догадок может идти за одной"],
    exit_layer: ["Слоёв у черновика", "число или доля всех слоёв"], skip_layers: ["Пропускаемые слои", "вместо раннего выхода: 8-20,24"], confidence: ["Остановиться ниже", "закончить черновик после токена с меньшей вероятностью"], ngram_max: ["Длиннейшее совпадение", "сколько токенов искать сначала"], ngram_min: ["Кратчайшее совпадение", "сколько токенов уже считается совпадением"],
    lookup_match: ["Какое совпадение", "первое в тексте или последнее"], suffix_confidence: ["Остановиться ниже", "закончить черновик, когда оценка станет меньше"], lookup_min: ["Текст раньше модели", "кратчайшее совпадение, которое важнее модели-черновика"] },

  verdict(d, chain = byRatio(d)) {
    if (d.verdict === "not_reached") return "не проверен: отвергнут один из токенов перед ним";
    const kept = d.verdict === "accepted";
    if (d.u === null) return kept ? "первый выбор целевой модели тот же: принят" : "первый выбор целевой модели другой: отвергнут";
    if (kept && certain(d) && chain) return "p ≥ q: принят при любом u";
    return `${compared(d, chain ? "p/q" : "порог")}: ${kept ? "принят" : "отвергнут"}`;
  },
  cardVerdict(d, state, chain = byRatio(d)) {
    if (state === "pending") return ["ждёт", "целевую модель"];
    if (state === "lit") return ["проверен", "p известна, решения ещё нет"];
    if (d.verdict === "not_reached") return ["не проверен", "стоит за отвергнутым"];
    const kept = d.verdict === "accepted";
    const word = kept ? "принят" : "отвергнут";
    if (d.u === null) return [word, kept ? "первый выбор целевой модели тот же" : "первый выбор целевой модели другой"];
    if (kept && certain(d) && chain) return [word, "p ≥ q, при любом u"];
    return [word, compared(d, chain ? "p/q" : "порога", " ")];
  },
  settled(kind, greedy) {
    if (kind === "recovered") return ["выбран заново", greedy ? "первый выбор самой целевой модели" : "из того, чего в p больше, чем в q"];
    if (kind === "bonus") return ["бонус", greedy ? "следующий выбор целевой модели, даром" : "взят из p, даром: проход её уже посчитал"];
    return ["обычный", "одна целевая модель: проход на токен"];
  },
  tokenLabel(text, kind, d, extra) {
    const name = `${short(text, 40)}: ${RU.kind[kind]}`;
    if (!d) return `${name}, ${extra}`;
    return `${name}. p целевой модели ${probLong(d.p)}, q черновика ${probLong(d.q)}${d.u === null ? "" : `, u ${probLong(d.u)}`}; ${RU.verdict(d)}`;
  },

  roundTitle(r, round, final) {
    if (!round.drafted.length) return r === 0 ? "Раунд 0: прочитан вопрос, получен первый токен" : `Раунд ${r}: ничего не предложено, один токен от целевой модели`;
    const n = (v) => round.drafted.filter((d) => d.verdict === v).length;
    const parts = [`предложено ${round.drafted.length}`];
    if (!final) return `Раунд ${r}: ${parts[0]}`;
    parts.push(n("accepted") === round.drafted.length ? "приняты все" : n("accepted") ? `принято ${n("accepted")}` : "не принят ни один");
    const end = round.emitted.find((e) => e.kind !== "accepted");
    if (end?.kind === "recovered") parts.push("один выбран заново");
    if (end?.kind === "bonus") parts.push("один бонус");
    return `Раунд ${r}: ${list(parts)}`;
  },
  roundCost(round, step, estimated) {
    const n = round.drafted.length, out = round.emitted.length;
    const pass = n ? `один проход целевой модели по ${n + 1} местам ${ms(round.verify_s)}` : `один проход целевой модели ${ms(round.verify_s)}`;
    const first = n ? `Черновик ${n} × ${ms(round.draft_s / n)}, ${pass}.` : `${capital(pass)}.`;
    if (!step || !n) return first;
    return `${first} Обычной генерации на ${tokens(out)} ${estimated ? "понадобилось бы около" : "понадобилось"} ${ms(step * out)}.`;
  },
  unlikely: (top) => (top ? `: он выбран случайно по q, где вероятнее всех ${quoted(top.text, "«»")}, ${probLong(top.q)}` : ""),
  step(s, round, total) {
    const head = `Раунд ${s.r} из ${total - 1}`;
    if (s.phase === "draft") {
      const d = round.drafted[s.drafted - 1];
      return `${head} · черновик предлагает ${quoted(d.text, "«»")}${d.q === null || d.q === 1 ? "" : ` с q = ${probLong(d.q)}`}${RU.unlikely(likelierDraft(round, s.drafted - 1))}`;
    }
    if (s.phase === "verify") return `${head} · один проход целевой модели проверяет сразу все предложенные (${round.drafted.length})`;
    if (s.phase === "verdict") return `${head} · ${quoted(round.drafted[s.i].text, "«»")}: ${RU.verdict(round.drafted[s.i])}`;
    const e = round.emitted.find((x) => x.kind !== "accepted");
    if (!e) return `${head} · конец раунда`;
    if (e.kind === "recovered") return `${head} · вместо отвергнутого выбран заново ${quoted(e.text, "«»")}`;
    if (e.kind === "bonus") return `${head} · приняты все, ${quoted(e.text, "«»")} приходит как бонус`;
    return `${head} · целевая модель одна пишет ${quoted(e.text, "«»")}`;
  },

  speed: {
    measured: (x) => (x >= 1 ? "быстрее обычной генерации в этот один раз; измерено то и другое, по очереди" : "скорости обычной генерации: здесь медленнее, в этот один раз; измерено то и другое, по очереди"),
    estimate: "скорости обычной генерации по оценке: рядом с этой записью её время не измерено, её шаг измерен раньше",
    none: "ускорение: появится, когда будет измерено время обычной генерации",
    plainRun: "без черновика: это и есть обычная генерация",
    badge: "пока оценка",
    why: (c) => `Раунд с черновиком стоит ${fixed(c.cost, 2)} обычного шага и даёт ${fixed(c.yield, 2)} токена.`,
    whySlow: (c) => `Здесь медленнее, потому что раунд с черновиком стоит ${fixed(c.cost, 2)} обычного шага и даёт только ${fixed(c.yield, 2)} токена.`,
  },
  perRound: "токенов за раунд с черновиком: принятые и один от целевой модели",
  tested: (t) => (t.tested ? `проверенных принято, ${t.accepted} из ${t.tested}` : "проверенных принято"),
  perSecond: "токенов в секунду, без ожидания первого",
  versus: (x) => `против ${x} у обычной`,

  bars: {
    title: (context) => ["p целевой модели и q черновика после", context],
    titleStart: "p целевой модели и q черновика для первого токена", titleStartBonus: "p целевой модели для первого токена",
    titleBonus: (context) => ["p целевой модели после", context],
    sub: "Сплошное: в этом обе согласны. Штриховка: предложено слишком охотно. Контур: ещё причитается целевой модели.",
    subGreedy: "Температура 0: вся p стоит на первом выборе целевой модели, вся q на первом выборе черновика.",
    subBonus: "До этого места черновик не дошёл: токен берётся из самой p.",
    overlap: (x) => `Пересечение Σ min(p, q) = ${probLong(x)}: вероятность, что единственный предложенный на этом месте токен примут, какой бы он ни был.`,
    others: "все прочие", head: ["токен", "p целевой над q черновика", "остаток"],
    residual: "Чего в p больше, чем в q, приведённое к 1: отсюда берётся замена.",
    pin: "u·q", drawnAmongOthers: (text) => `Выбранный токен, ${quoted(text, "«»")}, один из всех прочих.`, drawn: "выбран", empty: "Выберите токен, чтобы увидеть на его месте оба распределения.",
    caption: "Вероятности целевой модели и черновика на этом месте",
    gap: (g) => `Первый выбор целевой модели впереди второго на ${fixed(g, 1)} в логитах.`,
    pinNote(d) {
      const [at, p] = apart(d.u * d.q, d.p, probLong, probLong), out = d.verdict === "rejected";
      return `Отметка стоит на u·q = ${at}; ${out ? "за" : "внутри"} p = ${p}, поэтому токен ${out ? "отвергнут" : "принят"}.`;
    },
  },
  race: {
    label: (spec, plain) => `Токены по секундам: с черновиком ${spec}, обычно ${plain}`,
    title: "Ускорение по ходу дела", second: "с", measured: "Обе генерации измерены одна за другой на одной и той же машине.", estimate: "Обычной генерации не было: её линия оценена по измеренному шагу.",
    running: (n) => `Сейчас измеряется обычная генерация того же вопроса${n ? `: ${tokens(n)}` : ""} …`,
    alone: "Токены по времени.", spec: "с черновиком", plain: "обычная", plainEstimate: "обычная (оценка)", x: "секунды от начала", y: "токены",
    now: (n, t, plain) => `На этом шаге: ${tokens(n)} за ${secs(t)}${plain.known ? `; у обычной генерации ${plain.measured ? "было" : "было бы"} ${plain.tokens}` : ""}.`,
  },
  timeline: { title: "Время", draft: "черновик", target: "целевая", plain: "обычная", near: "около раунда", whole: "целиком",
    sub: (m) => (m ? "Измерено. Обычная генерация на тех же часах." : "Дорожка обычной генерации оценена по измеренному шагу, на тех же часах.") },
  tree: "Дерево черновика: все ветви проверяются одним проходом; принятый путь сплошной.",
  where: (r, total) => `раунд ${r} из ${total - 1}`,
  lossy: "с потерями: распределение ответа не то, что у целевой модели",
  run(trace) {
    const r = trace.run ?? {}, s = r.sampling ?? {}, bits = [];
    if (r.target) bits.push(short(String(r.target).replaceAll(" ", "\u2009"), 60) + (r.draft ? ` и ${short(String(r.draft).replaceAll(" ", "\u2009"), 60)}` : ""));
    if (r.device) bits.push(`${r.device} ${r.dtype ?? ""}`.trim());
    if (s.temperature !== undefined) bits.push(Number(s.temperature) === 0 ? "жадно" : `температура ${upTo(Number(s.temperature), 3)}`);
    if (Number.isFinite(s.top_p) && s.top_p < 1) bits.push(`top-p ${upTo(s.top_p, 3)}`);
    if (r.seed !== undefined) bits.push(`зерно ${r.seed}`);
    if (typeof r.created === "string") bits.push(short(r.created.slice(0, 10), 12));
    if (RU.stopped[trace.totals?.stop]) bits.push(RU.stopped[trace.totals.stop]);
    return bits.join(" · ");
  },
  source: { recorded: "Запись", live: "Живая генерация", imported: "Открыто из файла", none: "Генерация" },
  recordings: { shown: "Это запись генерации: проиграйте её или идите по шагам.", none: "Записи этого примера с этим методом нет: нажмите «Запустить».", live: "Нажмите «Запустить», и модель ответит на этот вопрос.", failed: "Запись не загрузилась." },
  queue: (place, of) => `Модель занята: вы ${place} из ${of} в очереди.`,
  waiting: "Первый токен вот-вот появится …", nothing: "Записей здесь ещё нет. Нажмите «Запустить», когда модель будет готова.",
  controls: { first: "Первый шаг (Home)", back: "Шаг назад (←)", play: "Проиграть (пробел)", pause: "Пауза (пробел)", forward: "Шаг вперёд (→)", last: "Последний шаг (End)", speed: "Скорость", toRead: "Чтобы успеть прочесть", recorded: "Во сколько раз быстрее записи", pace: (n) => `${n} ${n === 1 ? "шаг" : "шага"}/с`, scrub: "Раунды: столбик на раунд, высота по числу токенов", help: "Клавиши (?)", close: "Закрыть" },
  keys: [["←  →", "шаг назад, вперёд"], ["Shift ←  →", "раунд назад, вперёд"], ["Пробел", "проиграть, пауза"], ["Home  End", "первый, последний шаг"], ["↑  ↓", "прежний, следующий токен, если он в фокусе"], ["?", "этот список"], ["Esc", "выйти из показа"], ["Page Down  Page Up", "в показе: следующий, прежний шаг (в уроке: его страницы)"]],
  bar: (r, round) => `раунд ${r}: ${tokens(round.emitted.length)}${round.drafted.length ? `, предложено ${round.drafted.length}` : ""}`,
  stopped: { cancelled: "остановлено до конца", length: "предел числа токенов", eos: "закончила сама", stop_string: "на стоп-строке" },
  secs,
};
