"""A synthetic but self-consistent Trace: real rejection sampling on a small made-up vocabulary. No model, no torch.

Every number is what a Trace promises: p and q sum to 1 with `others`, u decides whether a token is accepted, its replacement is drawn from
the residual and the bonus from p. So a page test can check what is drawn against what the record says.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

_SCRIPT = (
    "Leaves| change| colour| in| autumn| because| the| tree| stops| making| food| for| the| winter|.| It| breaks| down| its| green"
    "| pigment|,| chlor|ophyll|,| and| the| yellow| and| orange| that| were| hidden| can| be| seen|.|\n\n|Some| trees| also| make"
    "| a| red| pigment| when| nights| are| cold| and| days| are| bright|.| Then| the| leaf| falls|,| and| the| tree| rests"
    "| until| spring|."
)
SCRIPT = list(_SCRIPT.split("|"))
_OTHER = " is| plant| called| a| of| with| to| light| sun| shade| brown| slowly| quickly| often| never| water|ing|s|!| so"
OTHER = list(_OTHER.split("|"))
VOCAB = ["<|im_end|>", *dict.fromkeys(SCRIPT + OTHER)]
EOS = 0
LISTED = 8


def _random(rng: random.Random, favourite: int, strength: float) -> list[float]:
    """A random distribution over VOCAB with more of it on one token."""
    weights = [rng.expovariate(1.0) ** 3 + 1e-4 for _ in VOCAB]
    weights[favourite] += strength * sum(weights)
    total = sum(weights)
    return [w / total for w in weights]


def _both(position: int, previous: int, seed: int) -> tuple[list[float], list[float]]:
    """(p, q) at one position: q is p mixed with noise, in a third of the cases around another token."""
    rng = random.Random(f"{position}/{previous}/{seed}")
    favourite = VOCAB.index(SCRIPT[position]) if position < len(SCRIPT) else EOS
    p = _random(rng, favourite, rng.choice([0.6, 1.5, 4.0, 9.0]))
    wrong = rng.randrange(1, len(VOCAB)) if rng.random() < 0.35 else favourite
    noise = _random(rng, wrong, rng.choice([0.5, 2.0, 5.0]))
    mix = 0.55 if wrong != favourite else 0.75
    q = [mix * a + (1 - mix) * b for a, b in zip(p, noise)]
    return p, q


def _onehot(probs: list[float]) -> list[float]:
    best = max(range(len(probs)), key=probs.__getitem__)
    return [1.0 if i == best else 0.0 for i in range(len(probs))]


def _draw(probs: list[float], rng: random.Random) -> int:
    return rng.choices(range(len(probs)), probs)[0]


def _table(after: int, p: list[float], q: list[float] | None, raw: tuple, drafted: int | None, residual: list[float] | None) -> dict:
    top = sorted(range(len(p)), key=lambda i: -raw[0][i])[:LISTED]
    if q is not None:
        top += sorted(range(len(p)), key=lambda i: -raw[1][i])[:LISTED]
    ids = list(dict.fromkeys(top + ([drafted] if drafted is not None else [])))
    ids.sort(key=lambda i: -p[i])
    rest = [i for i in range(len(p)) if i not in set(ids)]

    def logit(probs):
        return [round(10 + 2 * (len(probs) * probs[i]) ** 0.25, 3) for i in ids]

    def overlap(keys):
        return sum(min(p[i], q[i]) for i in keys) if q is not None else None

    def pick(probs):
        return [round(probs[i], 6) for i in ids] if probs is not None else None

    def tail(probs):
        return sum(probs[i] for i in rest) if probs is not None else None

    return {
        "after": after,
        "ids": ids,
        "texts": [VOCAB[i] for i in ids],
        "p": pick(p),
        "q": pick(q),
        "residual": pick(residual),
        "logit_p": logit(raw[0]),
        "logit_q": logit(raw[1]) if q is not None else None,
        "overlap": overlap(range(len(p))),
        "others": {"p": tail(p), "q": tail(q), "overlap": overlap(rest), "residual": tail(residual)},
    }


def _race(probs: list[float], position: int, seed: int) -> int:
    """The winner of the race whose dice belong to the position: the draw of a coupled run."""
    dice = random.Random(f"dice/{position}/{seed}")
    return max(range(len(probs)), key=[x / dice.expovariate(1.0) for x in probs].__getitem__)


def _tok(i: int) -> dict[str, Any]:
    return {"id": i, "text": VOCAB[i]}


class Maker:
    """Decodes round by round; `rounds` yields Trace rounds."""

    def __init__(self, temperature: float, seed: int, draft_len: int, limit: int, tree: bool = False, coupled: bool = False):
        self.greedy, self.seed, self.draft_len, self.limit, self.tree = temperature == 0, seed, draft_len, limit, tree
        self.coupled = coupled
        self.rng, self.out, self.clock = random.Random(seed), [], 0.0

    def both(self, context: list[int]):
        raw = _both(len(context), context[-1] if context else -1, self.seed)
        return (*map(_onehot, raw), raw) if self.greedy else (*raw, raw)

    def draw(self, probs: list[float], position: int) -> int:
        return _race(probs, position, self.seed) if self.coupled else _draw(probs, self.rng)

    def tick(self, drafts: int, positions: int) -> dict[str, float]:
        jitter = 0.9 + 0.2 * self.rng.random()
        draft, verify, other = drafts * 0.0021 * jitter, (0.027 + 0.0007 * positions) * jitter, 0.0012
        self.clock += draft + verify + other
        return {"draft_s": draft, "verify_s": verify, "other_s": other, "elapsed_s": self.clock}

    def rounds(self) -> Iterator[dict[str, Any]]:
        p, _, raw = self.both([])
        first = self.draw(p, 0)
        self.out = [first]
        yield {
            "index": 0,
            "start": 0,
            "draft_len": self.draft_len,
            "drafted": [],
            "emitted": [{**_tok(first), "kind": "plain"}],
            "tables": [_table(-1, p, None, raw, None, None)],
            **self.tick(0, 40),
        }
        index = 1
        while len(self.out) < self.limit and self.out[-1] != EOS:
            yield self.tree_round(index) if self.tree else self.chain_round(index)
            index += 1

    def chain_round(self, index: int) -> dict[str, Any]:
        start, n = len(self.out), min(self.draft_len, self.limit - len(self.out))
        drafted, tables, emitted, open_ = [], [], [], True
        context = list(self.out)
        for i in range(n):
            p, q, raw = self.both(context)
            token = self.draw(q, len(context))
            u = None if self.greedy or self.coupled else self.rng.random()
            threshold = float(token == self.draw(p, len(context))) if self.coupled else p[token] / q[token]
            keep = p[token] == 1 if self.greedy else threshold == 1 if self.coupled else u < threshold
            verdict = ("accepted" if keep else "rejected") if open_ else "not_reached"
            residual = None
            if open_ and not keep:
                over = [max(0.0, a - b) for a, b in zip(p, q)]
                residual = p if self.coupled else [o / sum(over) for o in over]
                emitted.append({**_tok(self.draw(residual, len(context))), "kind": "recovered"})
            elif open_:
                emitted.append({**_tok(token), "kind": "accepted"})
            open_ = open_ and keep
            drafted.append({**_tok(token), "parent": i - 1, "p": p[token], "q": q[token], "u": u, "threshold": threshold, "verdict": verdict})
            tables.append(_table(i - 1, p, q, raw, token, residual))
            context.append(token)
            if token == EOS:
                break
        if open_ and drafted[-1]["id"] != EOS and start + len(emitted) < self.limit:
            p, _, raw = self.both(context)
            tables.append(_table(len(drafted) - 1, p, None, raw, None, None))
            emitted.append({**_tok(self.draw(p, len(context))), "kind": "bonus"})
        self.out += [e["id"] for e in emitted]
        return {
            "index": index,
            "start": start,
            "draft_len": self.draft_len,
            "drafted": drafted,
            "emitted": emitted,
            "tables": tables,
            **self.tick(len(drafted), len(drafted) + 1),
        }

    def tree_round(self, index: int) -> dict[str, Any]:
        """Two levels, 3 then 2 branches each, greedy: the path that equals the target's choices is accepted."""
        start, drafted, tables, emitted, path = len(self.out), [], [], [], -1
        level = [(-1, list(self.out))]
        for width in (3, 2):
            below = []
            for parent, context in level:
                p, q, raw = self.both(context)
                best = sorted(range(len(q)), key=lambda i: -raw[1][i])[:width]
                tables.append(_table(parent, p, q, raw, best[0], None))
                for token in best:
                    verdict = "not_reached"
                    if parent == path and len(emitted) == (0 if parent < 0 else 1):
                        verdict = "accepted" if p[token] == 1 else "rejected"
                    if verdict == "accepted":
                        emitted.append({**_tok(token), "kind": "accepted"})
                        path = len(drafted)
                    drafted.append(
                        {
                            **_tok(token),
                            "parent": parent,
                            "p": p[token],
                            "q": 1.0,
                            "u": None,
                            "threshold": p[token] if verdict != "not_reached" else None,
                            "verdict": verdict,
                        }
                    )
                    below.append((len(drafted) - 1, [*context, token]))
            level = below
        p, _, raw = self.both(self.out + [e["id"] for e in emitted])
        if path >= 0 and len(emitted) == 2:
            tables.append(_table(path, p, None, raw, None, None))
        emitted.append({**_tok(_draw(p, self.rng)), "kind": "bonus" if len(emitted) == 2 else "recovered"})
        self.out += [e["id"] for e in emitted]
        return {"index": index, "start": start, "draft_len": 2, "drafted": drafted, "emitted": emitted, "tables": tables, **self.tick(2, 10)}


def totals(rounds: list[dict], stop: str = "eos") -> dict[str, Any]:
    out = [e for r in rounds for e in r["emitted"]]
    drafting = [r for r in rounds if r["drafted"]]
    verdicts = [d["verdict"] for r in drafting for d in r["drafted"]]
    accepted, tested = verdicts.count("accepted"), sum(v != "not_reached" for v in verdicts)
    decode = rounds[-1]["elapsed_s"] - rounds[0]["elapsed_s"]
    return {
        "text": "".join(e["text"] for e in out),
        "new_tokens": len(out),
        "rounds": len(rounds),
        "drafted": len(verdicts),
        "accepted": accepted,
        "tested": tested,
        "acceptance_rate": accepted / max(1, len(verdicts)),
        "tested_rate": accepted / max(1, tested),
        "acceptance_by_position": [],
        "tokens_per_round": sum(len(r["emitted"]) for r in drafting) / max(1, len(drafting)),
        "ttft_s": rounds[0]["elapsed_s"],
        "decode_s": decode,
        "tokens_per_s": len(out) / rounds[-1]["elapsed_s"],
        "peak_memory_bytes": 700_000_000,
        "stop": stop,
    }


def plain(count: int, ttft: float) -> dict[str, Any]:
    step = 0.0285
    times = [ttft + i * step for i in range(count)]
    return {"ttft_s": ttft, "decode_s": times[-1] - ttft, "tokens_per_s": count / times[-1], "elapsed_s": times}


def header(prompt: str, temperature: float, seed: int, draft_len: int, verify: str) -> dict[str, Any]:
    return {
        "target": "Synthetic target",
        "draft": "synthetic draft",
        "method": "draft",
        "verify": verify,
        "lossless": True,
        "device": "cpu",
        "dtype": "bfloat16",
        "prompt": prompt,
        "prompt_ids": [1],
        "sampling": {"temperature": temperature, "top_k": 0, "top_p": 1.0},
        "draft_len": draft_len,
        "seed": seed,
        "costs": {"plain_step_s": 0.0285, "draft_step_s": 0.0021, "verify_s": {"1": 0.0285, "2": 0.0292, "5": 0.0315, "9": 0.0392}},
        "weights": {},
        "software": {},
        "created": "2026-11-29T16:00:00Z",
    }


def make(
    prompt="Explain why leaves change colour in autumn.", temperature=0.7, seed=7, draft_len=4, limit=96, tree=False, coupled=False
) -> dict[str, Any]:
    rounds = list(Maker(temperature, seed, draft_len, limit, tree, coupled).rounds())
    all_ = totals(rounds)
    return {
        "version": 1,
        "run": header(prompt, temperature, seed, draft_len, "coupled" if coupled else "tree" if tree else "chain"),
        "rounds": rounds,
        "totals": all_,
        "plain": plain(all_["new_tokens"], rounds[0]["elapsed_s"]),
    }


def lines(trace: dict[str, Any]) -> list[str]:
    head = json.dumps({"version": 1, "run": trace["run"]})
    last = json.dumps({"totals": trace["totals"], "plain": trace["plain"]})
    return [line + "\n" for line in (head, *map(json.dumps, trace["rounds"]), last)]
