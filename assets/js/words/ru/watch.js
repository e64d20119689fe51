// Всё, что говорит проигрыватель, по-русски. Ключи те же, что в en/watch.js.
import { capital, fixed, inRussian, plural, probLong, ratio, times, upTo } from "../../page/numbers.js";
import { quoted, short } from "../../page/glyphs.js";
import { apart } from "../../page/printed.js";
import { likelierDraft } from "../../trace/steps.js";
import { isCoupled } from "../../trace/trace.js";
import { TOKENS_RU } from "./tokens.js";

const { ms, secs } = inRussian;
const tokens = (n) => `${n} ${plural(n, "токен", "токена", "токенов")}`;
const list = (parts) => parts.join(", ");

export const RU = {
  ...TOKENS_RU,

  aria: {
    result: "Итог",
    legend: "Условные знаки: нажмите, чтобы выделить такие токены в тексте",
    filter: (kind) => `Выделить в тексте только токены «${kind}»`,
    cards: "Токены этого раунда в порядке проверки",
    text: "Полученный текст по токенам",
  },
  soFar: (x, r) => `${x} к раунду ${r}`,
  given: "Дано:", prompt: "Промпт:", allWords: "Все термины",
  offlineNote: "Сохранено из Specscope: одна записанная генерация, соединение с сетью не нужно.",
  settingsTitle: "Настройки этого метода",
  settings: {
    tree: [
      "Форма черновика",
      "chain — токен за токеном; auto — больше ветвей там, где черновик не уверен; " +
        "3x2x1 — три кандидата на следующий токен, за каждым два, потом один",
    ],
    vocab: ["Словарь", "intersect — черновик с другим токенизатором, на общих токенах"],
    tree_tokens: ["Токенов черновика за раунд", "узлов дерева; в SGLang — speculative_num_draft_tokens"],
    tree_depth: ["Глубина дерева", "уровней, если форма их не задаёт; в SGLang — speculative_num_steps"],
    tree_top_k: ["Ветвей у узла", "сколько токенов может идти за одним; в SGLang — speculative_eagle_topk"],
    exit_layer: ["Слой выхода", "сколько слоёв у черновика: число или доля всех"],
    skip_layers: ["Пропускаемые слои", "вместо слоя выхода: 8-20,24"],
    confidence: ["Порог уверенности", "черновик кончается после токена с меньшей вероятностью"],
    ngram_max: ["Самая длинная n-грамма", "сколько токенов искать сначала; в vLLM — prompt_lookup_max"],
    ngram_min: ["Самая короткая n-грамма", "сколько токенов уже совпадение; в vLLM — prompt_lookup_min"],
    lookup_match: ["Какое совпадение", "из нескольких: первое в тексте или последнее"],
    suffix_confidence: ["Порог уверенности", "черновик кончается, когда оценка вероятности станет меньше"],
    lookup_min: ["Минимальное совпадение", "сколько токенов должно совпасть, чтобы prompt lookup шёл первым"],
  },

  roundTitle(r, round, final, atLimit) {
    if (!round.drafted.length)
      return r === 0
        ? "Раунд 0: прочитан промпт, получен первый токен"
        : atLimit
          ? `Раунд ${r}: до предела остался один токен, поэтому черновика не было`
          : `Раунд ${r}: ничего не предложено, один токен от самой целевой модели`;
    const n = (v) => round.drafted.filter((d) => d.verdict === v).length;
    const parts = [`предложено ${round.drafted.length}`];
    if (!final) return `Раунд ${r}: ${parts[0]}`;
    parts.push(n("accepted") === round.drafted.length ? "приняты все" : n("accepted") ? `принято ${n("accepted")}` : "не принято ни одного");
    const end = round.emitted.find((e) => e.kind !== "accepted");
    if (end?.kind === "recovered") parts.push("заново выбран 1");
    if (end?.kind === "bonus") parts.push("1 бонусный");
    return `Раунд ${r}: ${list(parts)}`;
  },
  roundCost(round, step, estimated) {
    const n = round.drafted.length;
    const out = round.emitted.length;
    const pass = n
      ? `один проход целевой модели по ${n + 1} ${plural(n + 1, "позиции", "позициям", "позициям")} — ${ms(round.verify_s)}`
      : `один проход целевой модели — ${ms(round.verify_s)}`;
    const first = n ? `Черновик — ${n} × ${ms(round.draft_s / n)}, ${pass}.` : `${capital(pass)}.`;
    if (!step || !n) return first;
    return `${first} Обычной генерации на ${tokens(out)} ${estimated ? "понадобилось бы около" : "понадобилось"} ${ms(step * out)}.`;
  },
  unlikely: (top) => (top ? `: он выбран случайно по q, где вероятнее всех ${quoted(top.text, "«»")}, ${probLong(top.q)}` : ""),
  step(s, round, total) {
    const head = `Раунд ${s.r} из ${total - 1}`;
    if (s.phase === "draft") {
      const d = round.drafted[s.drafted - 1];
      return (
        `${head} · черновик предлагает ` +
        `${quoted(d.text, "«»")}${d.q === null || d.q === 1 ? "" : ` с q = ${probLong(d.q)}`}${RU.unlikely(likelierDraft(round, s.drafted - 1))}`
      );
    }
    if (s.phase === "verify") return `${head} · один проход целевой модели проверяет сразу все предложенные токены (${round.drafted.length})`;
    if (s.phase === "acceptance") return `${head} · ${quoted(round.drafted[s.i].text, "«»")}: ${RU.acceptance(round.drafted[s.i])}`;
    const e = round.emitted.find((x) => x.kind !== "accepted");
    if (!e) return `${head} · конец раунда`;
    if (e.kind === "recovered") return `${head} · вместо отклонённого выбран заново ${quoted(e.text, "«»")}`;
    if (e.kind === "bonus")
      return (
        `${head} · ${round.drafted.every((d) => d.verdict === "accepted") ? "приняты все" : "ветвь принята до конца"}, ` +
        `${quoted(e.text, "«»")} приходит как бонус`
      );
    return `${head} · целевая модель сама пишет ${quoted(e.text, "«»")}`;
  },

  speed: {
    measured: (x) =>
      x >= 1
        ? "быстрее обычной генерации в этом запуске; измерено и то и другое, по очереди"
        : "скорости обычной генерации: в этом запуске медленнее; измерено и то и другое, по очереди",
    estimate: "скорости обычной генерации, по оценке: время обычной в этом запуске не измерено, её шаг измерен раньше",
    none: "ускорение: появится, когда будет измерено время обычной генерации",
    plainRun: "без черновика: это и есть обычная генерация",
    badge: "пока оценка",
    why: (c) => `Раунд с черновиком стоит ${fixed(c.cost, 2)} обычного шага и даёт ${fixed(c.yield, 2)} токена.`,
    idle: (n, all) => `Раундов без черновика: ${n} из ${all}.`,
    prompt: (x, s, all) => `Проход по промпту, ${secs(s)} из ${secs(all)}, у обеих один и тот же: без него ${ratio(x)}.`,
    uneven: (quick, slow) =>
      `Машина была занята: проходы одного размера длились от ${ms(quick)} до ${ms(slow)}. Доверять этому числу можно лишь отчасти.`,
    whySlow: (c) =>
      `Здесь медленнее, потому что раунд с черновиком стоит ${fixed(c.cost, 2)} обычного шага и даёт только ${fixed(c.yield, 2)} токена.`,
  },
  perRound: "токенов за раунд с черновиком: принятые и один от целевой модели",
  tested: (t) => (t.tested ? `проверенных токенов принято, ${t.accepted} из ${t.tested}` : "проверенных токенов принято"),
  notTested: "черновика: у обычной генерации его нет",
  perSecond: "токенов в секунду, вместе с проходом по промпту",
  versus: (x) => `против ${x} у обычной`,

  bars: {
    title: (context) => ["p целевой модели и q черновика после", context],
    titleStart: "p целевой модели и q черновика для первого токена", titleStartBonus: "p целевой модели для первого токена",
    titleBonus: (context) => ["p целевой модели после", context],
    sub: "Сплошное — min(p, q). Штриховка — q больше p, предлагается слишком часто. Контур — p больше q, предлагается слишком редко.",
    subGreedy: "Температура 0: вся p — на первом выборе целевой модели, вся q — на первом выборе черновика.",
    subBonus: "На этой позиции ничего не предложено: токен берётся из самой p.",
    overlap: (x) =>
      `Пересечение Σ min(p, q) = ${probLong(x)}: вероятность, что предложенный на этой позиции токен примут.`,
    overlapFirst: (n, x) => `Пересечение Σ min(p, q) = ${probLong(x)}: вероятность того, что первый из ${n} предложенных здесь токенов будет принят.`,
    overlapAll: (n, x) => `Вместе эти ${n} составляют ${probLong(x)} от p: такова вероятность, что один из них будет принят.`,
    subListed: (texts) =>
      `Черновик предлагает здесь по очереди ${texts.map((t) => quoted(t, "«»")).join(", ")}, без случайного выбора: у каждого q = 1 на нём самом.`,
    overlapDice: (n, x, low) =>
      `Пересечение Σ min(p, q) = ${probLong(x)}. Когда кости общие, ${n > 1 ? "первый предложенный" : "предложенный"} здесь токен ` +
      `совпадает с токеном целевой модели с вероятностью от ${probLong(low)} до ${probLong(x)}.`,
    subDice: (texts) =>
      `Черновик предлагает здесь ${texts.map((t) => quoted(t, "«»")).join(", ")}: ` +
      "то, что раньше всего выпало ему с костями, общими с целевой моделью.",
    left: (d, listed) =>
      "u сравнивали с вероятностью принятия после прежних отклонений, " +
      `${listed ? "остатком p, приведённым к 1" : "остатком p, делённым на q"}: ${times(d.threshold)}.`,
    others: "все прочие", head: ["токен", "p целевой над q черновика", "остаток"], headSingle: "p целевой модели",
    residual: "max(0, p − q), приведённый к сумме 1: отсюда берётся замена.",
    masked({ allowed, removed, texts, p }) {
      const which = texts.map((t, i) => `${quoted(t)} ${probLong(p[i])}`).join(", ");
      return `Грамматика допускает здесь токенов: ${allowed} – и отсекла ${probLong(removed)} распределения целевой модели` +
        `${which ? `: ${which}` : ""}.`;
    },
    pin: "u·q",
    drawnAmongOthers: (text) => `Выбранный токен ${quoted(text, "«»")} — среди всех прочих.`,
    drawn: "выбран",
    empty: "Выберите токен, чтобы увидеть на его позиции оба распределения.",
    caption: "Вероятности целевой модели и черновика на этой позиции",
    gap: (g) => `Логит первого выбора целевой модели больше, чем второго, на ${fixed(g, 1)}.`,
    pinNote(d) {
      const [at, p] = apart(d.u * d.q, d.p, probLong, probLong), out = d.verdict === "rejected";
      return `Отметка стоит на u·q = ${at}; это ${out ? "не меньше" : "меньше"}, чем p = ${p}, поэтому токен ${out ? "отклонён" : "принят"}.`;
    },
  },
  race: {
    label: (spec, plain) => `Токены по секундам: спекулятивно ${spec}, обычно ${plain}`,
    title: "Ускорение по ходу генерации",
    second: "с",
    measured: "Обе генерации измерены одна за другой на одной и той же машине.",
    estimate: "Обычной генерации не было: её линия оценена по измеренному шагу.",
    running: (n) => `Сейчас измеряется обычная генерация с тем же промптом${n ? `: ${tokens(n)}` : ""} …`,
    alone: "Токены по времени.", spec: "спекулятивная", plain: "обычная", plainEstimate: "обычная (оценка)", x: "секунды от начала", y: "токены",
    now: (n, t, plain) =>
      `На этом шаге: ${tokens(n)} за ${secs(t)}${plain.known ? `; у обычной генерации ${plain.measured ? "было" : "было бы"} ${plain.tokens}` : ""}.`,
  },
  timeline: { title: "Время", draft: "черновик", target: "целевая", plain: "обычная", near: "около раунда", whole: "целиком",
    sub: (m) =>
      m ? "Измерено. Обычная генерация — на той же шкале времени." : "Дорожка обычной генерации оценена по измеренному шагу, шкала времени та же." },
  tree: "Дерево черновика: все ветви проверяются одним проходом; принятый путь показан сплошной линией.",
  where: (r, total) => `раунд ${r} из ${total - 1}`,
  lossy: "с потерями: распределение ответа не такое, как у целевой модели",
  run(trace) {
    const r = trace.run ?? {};
    const s = r.sampling ?? {};
    const bits = [];
    if (r.target)
      bits.push(
        short(String(r.target).replaceAll(" ", "\u2009"), 60) + (r.draft ? ` и ${short(String(r.draft).replaceAll(" ", "\u2009"), 60)}` : ""),
      );
    if (r.device) bits.push(`${r.device} ${r.dtype ?? ""}`.trim());
    if (s.temperature !== undefined) bits.push(Number(s.temperature) === 0 ? "жадный режим" : `температура ${upTo(Number(s.temperature), 3)}`);
    if (Number.isFinite(s.top_p) && s.top_p < 1) bits.push(`top-p ${upTo(s.top_p, 3)}`);
    if (r.seed !== undefined) bits.push(`seed ${r.seed}`);
    if (isCoupled(trace)) bits.push("кости у целевой модели и черновика общие");
    if (typeof r.created === "string") bits.push(short(r.created.slice(0, 10), 12));
    if (RU.stopped[trace.totals?.stop]) bits.push(RU.stopped[trace.totals.stop]);
    if (r.lossless !== false && /\b135M\b/.test(String(r.target))) bits.push("целевая модель мала: без черновика она ошибается так же");
    return bits.join(" · ");
  },
  source: { recorded: "Запись", live: "Живая генерация", imported: "Открыто из файла", none: "Генерация" },
  recordings: {
    shown: "Это запись генерации: проиграйте её или идите по шагам.",
    none: "Записи этого примера с этим методом нет, показана другая: нажмите «Запустить».",
    live: "Нажмите «Запустить», и модель ответит на этот промпт.",
    failed: "Запись не загрузилась.",
  },
  queue: (place, of) => `Модель занята: вы в очереди, место ${place} из ${of}.`,
  waiting: "Первый токен вот-вот появится …", nothing: "Записей здесь ещё нет. Нажмите «Запустить», когда модель загрузится.",
  controls: {
    first: "Первый шаг (Home)",
    back: "Шаг назад (←)",
    play: "Проиграть (пробел)",
    pause: "Пауза (пробел)",
    forward: "Шаг вперёд (→)",
    last: "Последний шаг (End)",
    speed: "Скорость",
    toRead: "Чтобы успеть прочесть",
    recorded: "Во сколько раз быстрее записи",
    pace: (n) => `${n} ${n === 1 ? "шаг" : "шага"}/с`,
    scrub: "Раунды: по столбику на раунд, высота — число токенов",
    help: "Клавиши (?)",
    close: "Закрыть",
  },
  keys: [
    ["←  →", "шаг назад, вперёд"],
    ["Shift ←  →", "раунд назад, вперёд"],
    ["Пробел", "проиграть, пауза"],
    ["Home  End", "первый, последний шаг"],
    ["↑  ↓", "предыдущий, следующий токен, если он в фокусе"],
    ["?", "этот список"],
    ["Esc", "выйти из показа"],
    ["Page Down  Page Up", "в показе: следующий, предыдущий шаг (в уроке — его страницы)"],
  ],
  bar: (r, round) => `раунд ${r}: ${tokens(round.emitted.length)}${round.drafted.length ? `, предложено ${round.drafted.length}` : ""}`,
  stopped: { cancelled: "остановлено до конца", length: "предел числа токенов", eos: "закончила сама", stop_string: "на стоп-строке" },
  secs,
};
