// «Методы» по-русски. Ключи те же, что в en/methods.js. [[термин|слово]] открывает словарь.
import { fixed, inRussian, lower, percent, plural, ratio, upTo } from "../../page/numbers.js";
import { GLOSSARY_RU } from "./glossary.js";

const { secs } = inRussian;
const METHOD_NAMES_RU = {
  draft: "Модель-черновик (draft model)",
  eagle: "EAGLE",
  medusa: "Medusa",
  lookup: "Prompt lookup (n-граммы)",
  suffix: "Suffix decoding",
  "lookup+draft": "Prompt lookup, затем draft",
  "lookup+eagle": "Prompt lookup, затем EAGLE",
  "early-exit": "Самоспекуляция (early exit)",
  plain: "Обычная генерация",
};
// Простое слово для каждого, рядом с названием.
const METHOD_HINTS_RU = {
  draft: "маленькая модель",
  eagle: "один обученный слой",
  medusa: "несколько обученных голов",
  lookup: "прежний текст",
  suffix: "привычки",
  "lookup+draft": "прежний текст, иначе маленькая модель",
  "lookup+eagle": "прежний текст, иначе обученный слой",
  "early-exit": "свои слои",
  plain: "никто не предлагает",
};
const EXAMPLE_NAMES_RU = { chat: "беседа", list: "список", story: "рассказ", code: "код", edit: "правка", summary: "пересказ",
  tool: "вызов функции", extract: "извлечение" };
export const EXAMPLE_NAME_RU = (name) => EXAMPLE_NAMES_RU[name] ?? name;
export const METHOD_NAME_RU = (name) => METHOD_NAMES_RU[name] ?? name;
export const RUN_NAME_RU = (r) => `${EXAMPLE_NAME_RU(r.example)} · ${METHOD_NAME_RU(r.method)}`;
const mb = (n) => `${Math.max(1, Math.round(n / 1e6))} МБ`;

export const METHODS_RU = {
  glossary: GLOSSARY_RU,
  names: METHOD_NAMES_RU, hints: METHOD_HINTS_RU, examples: EXAMPLE_NAMES_RU,
  title: "Методы: откуда берётся черновик",
  lead:
    "Проверка у всех методов одна, поэтому все сохраняют [[distribution|распределение]] [[target|целевой модели]]. " +
    "Различаются они тем, что делает [[draft|черновик]], сколько это стоит и сколько токенов черновика принимается.",
  length: "Сколько токенов предлагается за раунд — это [[draft length|длина черновика]], в vLLM — num_speculative_tokens.",
  labels: { proposes: "Кто предлагает (proposer)", memory: "Память", needs: "Нужно", choose: "Выбирать, когда", paper: "Статья", here: "Здесь" },
  cards: {
    draft: {
      proposes: "Вторая, гораздо меньшая модель предлагает токен за токеном.",
      memory: "Веса маленькой модели и её собственный кэш.",
      needs: "Вторая модель с теми же [[token|токенами]]; общую можно дообучить под целевую.",
      choose: "у целевой модели есть маленькая родственная модель, и шаг черновика стоит нескольких сотых прохода целевой.",
      papers: [
        "Leviathan, Kalman, Matias: Fast Inference from Transformers via Speculative Decoding. 2023, arxiv.org/abs/2211.17192",
        "Chen et al.: Accelerating Large Language Model Decoding with Speculative Sampling. 2023, arxiv.org/abs/2302.01318",
      ],
    },
    lookup: {
      proposes: "Сам текст: токены, которые раньше шли за той же n-граммой в промпте или ответе.",
      memory: "Ничего.",
      needs: "Ничего: ни модели, ни обучения.",
      choose:
        "ответ повторяет промпт: правка, пересказ, код, вопросы по тексту. " +
        "В свободном тексте совпадений мало, но и поиск почти ничего не стоит.",
      papers: ["Saxena: Prompt Lookup Decoding. 2023, github.com/apoorvumang/prompt-lookup-decoding"],
    },
    suffix: {
      proposes: "Суффиксное дерево: токены, которые чаще всего шли за теми же токенами в этом тексте и в прежних ответах.",
      memory: "Суффиксное дерево, по нескольку байтов на токен.",
      needs: "Прежние ответы того же рода; без обучения.",
      choose: "запросы одного рода идут снова и снова: агенты, формы, отчёты.",
      papers: ["Oliaro et al.: SuffixDecoding: Extreme Speculative Decoding for Emerging AI Applications. 2024, arxiv.org/abs/2411.04975"],
    },
    "early-exit": {
      proposes: "Первые слои самой целевой модели; остальные для черновика пропускаются.",
      memory: "Ничего дополнительно.",
      needs: "Целевая модель, обученная раннему выходу. Прочие с половиной слоёв предлагают плохо.",
      choose: "модель обучена этому, а памяти мало.",
      papers: [
        "Elhoushi et al.: LayerSkip: Enabling Early Exit Inference and Self-Speculative Decoding. 2024, arxiv.org/abs/2404.16710",
        "Zhang et al.: Draft & Verify: Lossless Large Language Model Acceleration via Self-Speculative Decoding. 2023, arxiv.org/abs/2309.08168",
      ],
    },
    medusa: {
      proposes: "Несколько маленьких голов на последнем скрытом состоянии целевой модели; i-я предсказывает i-й следующий токен.",
      memory: "Веса голов; своего кэша нет.",
      needs: "Обучить головы под эту модель, для большой это несколько часов GPU.",
      choose:
        "черновик любой длины должен делаться за один шаг. " +
        "Головы не видят токенов друг друга: на дальних позициях принимается меньше.",
      papers: ["Cai et al.: Medusa: Simple LLM Inference Acceleration Framework with Multiple Decoding Heads. 2024, arxiv.org/abs/2401.10774"],
    },
    eagle: {
      proposes: "Один слой читает скрытые состояния целевой модели и предлагает токен за токеном.",
      memory: "Веса одного слоя и маленький кэш.",
      needs: "Обучить голову под эту модель.",
      choose: "для вашей модели есть такая голова или её можно обучить: в статьях у неё лучшая доля принятых за свою цену.",
      papers: [
        "Li et al.: EAGLE: Speculative Sampling Requires Rethinking Feature Uncertainty. 2024, arxiv.org/abs/2401.15077",
        "Li et al.: EAGLE-2: Faster Inference of Language Models with Dynamic Draft Trees. 2024, arxiv.org/abs/2406.16858",
        "Li et al.: EAGLE-3: Scaling up Inference Acceleration of Large Language Models via Training-Time Test. 2025, arxiv.org/abs/2503.01840",
      ],
    },
    "lookup+draft": {
      proposes: "Prompt lookup, где нашлось длинное совпадение, иначе модель-черновик.",
      memory: "Как у модели-черновика.",
      needs: "То же, что модели-черновику.",
      choose: "одни запросы повторяют свой промпт, а другие нет.",
      papers: [
        "Chen et al.: Cascade Speculative Drafting for Even Faster LLM Inference. 2023, arxiv.org/abs/2312.11462 (черновики по очереди, та же мысль)",
      ],
    },
    "lookup+eagle": {
      proposes: "Prompt lookup, где нашлось длинное совпадение, иначе голова EAGLE.",
      memory: "Как у EAGLE.",
      needs: "То же, что EAGLE.",
      choose: "одни запросы повторяют свой промпт, а другие нет, и для модели есть голова.",
      papers: [
        "Chen et al.: Cascade Speculative Drafting for Even Faster LLM Inference. 2023, arxiv.org/abs/2312.11462 (черновики по очереди, та же мысль)",
        "Li et al.: EAGLE: Speculative Sampling Requires Rethinking Feature Uncertainty. 2024, arxiv.org/abs/2401.15077",
      ],
    },
    plain: { proposes: "Черновика нет, на каждый токен — один [[pass|проход]] целевой модели.", memory: "Ничего дополнительно.", needs: "Ничего.",
      choose:
        "принимается слишком мало, машина считает сразу много запросов или проход по нескольким токенам дорог. Тогда с черновиком медленнее.",
      papers: ["Vaswani et al.: Attention Is All You Need. 2017, arxiv.org/abs/1706.03762 (сам декодер)"] },
  },
  tune: {
    title: "По слоям",
    exitHead: "выход после слоя",
    skipHead: "пропущены слои",
    head: ["первый токен принят", "токенов за раунд", "к обычной скорости"],
    exit: (n) => `выход после слоя ${n}`,
    skip: (n) => `без слоёв ${String(n).replaceAll("-", "–")}`,
    more: (n) => `Слои, пропущенные в середине; настроек: ${n}`,
    best: (name, x) =>
      x > 1
        ? `Лучшее из измеренного: ${name}, ${ratio(x)} обычной скорости.`
        : `Лучшее из измеренного: ${name}, ${ratio(x)} обычной скорости. С этой моделью не окупается ни одна из проверенных настроек.`,
    from: (target, prompts, n) => `Измерено с ${target}: промптов ${prompts}, по ${n} новых токенов, рядом с обычной генерацией того же.`,
  },
  size: (bytes) => `Здесь: ${mb(bytes)} весов.`,
  none: "Записи с ним здесь ещё нет.",
  figure(r) {
    const accepted = r.tested
      ? `, принято ${percent(r.accepted / r.tested)} проверенных (${r.accepted} из ` +
        `${r.tested}${r.several ? ", на одной позиции несколько кандидатов, принят может быть один" : ""})`
      : "";
    return r.ratio === null ? `ускорение не измерено${accepted}` : `${ratio(r.ratio)} обычной скорости${accepted}`;
  },
  slower: (r) =>
    r.ratio !== null && r.ratio < 1
      ? r.cost !== null && r.tokens_per_round !== null
        ? `Здесь медленнее, потому что раунд с черновиком стоит ${fixed(r.cost, 2)} обычного шага и даёт только ${fixed(r.tokens_per_round, 2)} ` +
          "токена."
        : "Здесь медленнее, потому что раунды дают меньше, чем стоят."
      : "",
  lossy: "с потерями: распределение ответа не такое, как у целевой модели",
  play: (r) => `Открыть на первой вкладке: ${EXAMPLE_NAMES_RU[r.example] ?? r.example}`, playShort: "Открыть на первой вкладке",
  race: { title: "Рядом: один промпт, несколько методов, одни часы",
    lead: "Каждая генерация записана отдельно и проигрывается здесь. Одновременно они замедляли бы друг друга.",
    example: "Промпт", methods: "Методы", none: "Записей здесь ещё нет.", loading: "Записи загружаются …", failed: "Одна из записей не загрузилась.",
    play: "Проиграть",
    hint: "Нажмите «Проиграть»: все начнут одновременно.",
    pause: "Пауза",
    again: "С начала",
    speed: "Скорость, во сколько раз быстрее записи",
    clock: "Часы",
    at: (t) => secs(t),
    state: (n, t) => `токенов: ${n}`, done: (n, t) => `токенов: ${n} за ${secs(t)}, готово`, lane: (name) => `Текст: ${name}`,
    plainFrom: (name) => `Время измерено рядом с этой генерацией, с тем же промптом: ${name}`,
    noText: "У этой обычной генерации записаны только времена, текста нет: токены показаны точками",
    noPlain: "Обычная генерация с этим промптом не измерена.",
    sameTokens: (n) => `Все дорожки кончаются на одном числе токенов, ${n}: в самой короткой записи больше нет.`,
    stretched:
      "Машина не каждый раз была одинаково быстра, но рядом с каждой записью измерена своя обычная генерация: " +
      "часы здесь выставлены так, чтобы все обычные заняли одно время.",
    sampled: (some) =>
      (
        `${some ? "Записи с температурой выбирали" : "Здесь выбирали"} случайно: каждый текст — новая случайная выборка, поэтому тексты разные. ` +
        "Распределение, то есть вероятность каждого текста, у всех методов одно. " +
        `${some ? "При температуре 0 тексты совпадают, кроме мест, где два токена почти равны и выбор зависит от округления." : ""}`
      ).trim(),
    oneText:
      "Здесь кости одни на всех (--verify coupled): seed один, поэтому каждый метод пишет тот же текст, что обычная генерация, кроме мест, " +
      "где два токена почти равны и выбор зависит от округления.",
    greedy:
      "При температуре 0 случая нет: каждый метод пишет тот же текст, что обычная генерация, кроме мест, " +
      "где два токена почти равны и выбор зависит от округления.",
    conclusion(lanes, n) {
      const best = lanes[0];
      const rest = lanes.slice(1);
      const more = (l) => (l.ratio === null ? "" : `, ${ratio(l.ratio)} обычной`);
      const names = lanes.filter((l) => best.rate / l.rate < 1.03).map((l) => l.name);
      const level = names.length > 1 ? ` ${names.join(" и ")} отстают друг от друга не больше чем на 3 %: по одному измерению это ничья.` : "";
      return rest.length
        ? `Первый на этих ${n} ${plural(n, "токене", "токенах", "токенах")}: ${best.name}, ${fixed(best.rate, 1)} токена в секунду${more(best)}; ` +
            `затем ${rest.map((l) => `${l.name} ${fixed(l.rate, 1)}${more(l)}`).join("; ")}. Карточки ниже говорят о записях целиком.${level}`
        : `${best.name}: ${fixed(best.rate, 1)} токена в секунду.`;
    },
    heat: (t) => `температура ${upTo(t, 2)}`,
    because: (name, why) => `${name}: ${lower(why)}`,
    differ: "Не все эти записи сделаны с одними настройками (скажем, с одной температурой) или на одной машине: сравнивайте осторожно.",
    head: ["метод", "токены", "секунды", "токенов в секунду", "к обычной, на этих токенах", "на всей записи"],
    table: "Таблицей",
    legend: { accepted: "принят", recovered: "выбран заново", bonus: "бонус", plain: "обычный" },
  },
};
