"""What must hold for every method, as functions that the method's tests call with `make(target) -> Proposer`."""
from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor

from core.decoding.loop import Decoding, Options
from core.methods.base import Context, Draft, Proposer
from core.models.target import DecoderTarget
from core.sampling import probs, verify
from core.sampling.probs import Sampling
from core.sampling.tree import Tree
from core.trace import Round
from tests.core import tiny
from tests.core.tiny import F64

Make = Callable[[DecoderTarget], Proposer]
REPEATING = [3, 1, 4, 1, 5, 9, 3, 1, 4, 1, 5, 2, 3, 1]       # so that lookups find something
OPTIONS = {"T=1": Sampling(1.0), "top-k": Sampling(1.1, top_k=2), "top-p": Sampling(1.3, top_p=0.8), "min-p": Sampling(1.2, min_p=0.15),
           "penalty": Sampling(1.0, repetition_penalty=1.9)}


def check_round(r: Round) -> None:
    """What holds for every round, chain or tree: one path is accepted, and kinds and acceptance probabilities agree with that."""
    path = [i for i, d in enumerate(r.drafted) if d.verdict == "accepted"]
    assert [r.drafted[i].parent for i in path] == [-1, *path][:len(path)]
    assert all(d.parent < i for i, d in enumerate(r.drafted))
    assert [r.drafted[i].id for i in path] == [e.id for e in r.emitted if e.kind == "accepted"]
    for d in r.drafted:
        assert 0 < d.q <= 1 + 1e-9 and 0 <= d.p <= 1 + 1e-9
        assert d.verdict == "not_reached" or d.u is None or (d.u < d.threshold) == (d.verdict == "accepted")
    end = path[-1] if path else -1
    rejected = any(d.parent == end and d.verdict == "rejected" for d in r.drafted)
    last = [e.kind for e in r.emitted[len(path):]]
    assert last in ([], ["plain" if not r.drafted else "recovered" if rejected else "bonus"])


def decode(to: DecoderTarget, proposer: Proposer, prompt: list[int] = REPEATING, **options) -> tuple[Decoding, list[Round]]:
    """tiny.decode, with every round checked."""
    run, rounds = tiny.decode(to, proposer, prompt, **options)
    for r in rounds:
        check_round(r)
    return run, rounds


def greedy_is_plain(make: Make, prompts: Iterator[list[int]] | list[list[int]], to: DecoderTarget | None = None, **options) -> list[Round]:
    """Greedy output equals plain decoding, token for token. Returns all rounds."""
    to, all_rounds = to or tiny.target(), []
    proposer = make(to)
    for prompt in prompts:
        _, rounds = decode(to, proposer, prompt, max_new_tokens=18, **options)
        assert tiny.emitted(rounds) == tiny.greedy(to.model, prompt, 18)
        all_rounds += rounds
    return all_rounds


def penalty_is_plain(make: Make, penalty: float) -> None:
    """Greedy output with a repetition penalty: each token is the likeliest one given its own whole prefix."""
    to, sampling = tiny.target(), Sampling(repetition_penalty=penalty)
    _, rounds = decode(to, make(to), sampling=sampling)
    tokens = list(REPEATING)
    for token in tiny.emitted(rounds):
        assert token == int(tiny.dist_after(to.model, tokens, sampling).argmax())
        tokens.append(token)


def lengths(make: Make, k: int = 4) -> None:
    """Every max_new_tokens around the draft length, also where the context ends exactly there: no draft runs past the end."""
    for n in (0, 1, 2, k, k + 1, k + 2):
        for positions in (64, len(REPEATING) + n):
            if not n and positions != 64:
                continue
            to = tiny.target(max_positions=positions)
            run, rounds = decode(to, make(to), max_new_tokens=n, draft_len=k)
            assert tiny.emitted(rounds) == tiny.greedy(to.model, REPEATING, n) and run.stop == "length"
            assert all(len(r.drafted) == 0 or r.draft_len < n for r in rounds)


def eos_everywhere(make: Make, prompt: list[int] = REPEATING) -> set[int]:
    """Each token of the greedy output is in turn declared to be EOS, also in the middle of a draft; nothing after its first occurrence is emitted.

    Returns the positions of EOS in its round, 0 = first token.
    """
    want, positions = tiny.greedy(tiny.decoder(), prompt, 18), set()
    for token in dict.fromkeys(want):
        to = tiny.target(eos=(token,))
        run, rounds = decode(to, make(to), prompt, max_new_tokens=18)
        assert tiny.emitted(rounds) == want[:want.index(token) + 1] and run.stop == "eos"
        last = rounds[-1]
        positions.add(len(last.emitted) - 1)
        depth = [0] * len(last.drafted)
        for i, d in enumerate(last.drafted):
            depth[i] = 1 if d.parent < 0 else depth[d.parent] + 1
        if last.emitted[-1].kind == "accepted":
            assert max(depth) == len(last.emitted)      # tokens drafted after EOS are not recorded
    return positions


def twice(make: Make) -> None:
    """No state of a run is left in the proposer: the same object gives the same rounds again."""
    to = tiny.target()
    proposer = make(to)
    for sampling in (Sampling(), Sampling(1.0)):
        first, again, new = (facts(decode(to, p, sampling=sampling, seed=3)[1]) for p in (proposer, proposer, make(to)))
        assert first == again == new


def facts(rounds: list[Round]) -> list:
    """All of the rounds but texts, tables and times."""
    return [([(d.id, d.parent, d.p, d.q, d.u, d.verdict) for d in r.drafted], [(e.id, e.kind) for e in r.emitted]) for r in rounds]


def caches_agree(make: Make, cache_of: Callable[[Proposer], object] | None = None, sampling: Sampling | None = None,
                 to: DecoderTarget | None = None, text=None, prompt: list[int] = REPEATING, **options) -> None:
    """After each round, with rejected entries rolled back, the target's cache gives the next logits of a forward without cache; the draft's too."""
    to = to or tiny.target()
    proposer = make(to)
    run = Decoding(to, proposer, prompt, Options(24, 4, sampling or Sampling(), 1, **options), text)
    for r in run:
        check_round(r)
        if run.stop is None:
            assert run.ctx.cache.length == len(run.tokens) - 1
            agree(to.model, run.ctx.cache, run.tokens)
            if cache_of is not None:
                model, cache = cache_of(proposer)
                agree(model, cache, run.tokens)


def agree(model, cache, tokens: list[int]) -> None:
    """The logits after `tokens` are the same with the cache and without."""
    assert cache.length <= len(tokens) - 1
    length = cache.length
    with torch.inference_mode():
        got = model(torch.tensor([tokens[length:]]), cache)[0, -1]
    cache.truncate(length)
    torch.testing.assert_close(got, tiny.logits_after(model, tokens), rtol=0, atol=1e-9)


# -- exact distribution ------------------------------------------------------------------------------------------------------------------------


class Script:
    """Replaces probs.draw and enumerates: each run of the proposer takes the next combination of draws; `chance` is its probability."""

    def __init__(self) -> None:
        self.choices: list[tuple[int, int]] = []        # (option taken, number of options) of each draw
        self.at, self.chance = 0, 1.0

    def __call__(self, dist: Tensor, u: Tensor) -> Tensor:
        rows = dist.reshape(-1, dist.shape[-1])
        return torch.stack([self._one(row) for row in rows]).view(dist.shape[:-1])

    def _one(self, dist: Tensor) -> Tensor:
        options = dist.nonzero().flatten()
        if self.at == len(self.choices):
            self.choices.append((0, len(options)))
        pick = options[self.choices[self.at][0]]
        self.chance *= float(dist[pick])
        self.at += 1
        return pick

    def next(self) -> bool:
        """Go to the next combination; False after the last one."""
        self.at, self.chance = 0, 1.0
        while self.choices:
            taken, of = self.choices.pop()
            if taken + 1 < of:
                self.choices.append((taken + 1, of))
                return True
        return False


def context(to: DecoderTarget, tokens: list[int], sampling: Sampling) -> Context:
    """A Context with these tokens and empty caches."""
    ctx = Context(list(tokens), sampling, torch.Generator(), to.vocab_size, to.max_positions, to.device, F64, to, to.new_cache(to.max_positions))
    if sampling.repetition_penalty != 1:
        ctx.seen = torch.zeros(to.vocab_size, dtype=torch.bool)
        ctx.seen[tokens] = True
    return ctx


def exact_distribution(make: Make, to: DecoderTarget, tokens: list[int], sampling: Sampling, k: int, monkeypatch) -> int:
    """The joint distribution of the next k + 1 tokens is the target's: every draft and every result of its verification is enumerated.

    After a rejection the remaining tokens are drawn from p. Returns the number of different drafts.
    """
    size, got, drafts = to.vocab_size, {}, 0
    memory: dict[tuple[int, ...], Tensor] = {}

    def p(*more: int) -> Tensor:
        if more not in memory:
            memory[more] = tiny.dist_after(to.model, [*tokens, *more], sampling)
        return memory[more]

    script = Script()
    real = probs.draw
    while True:
        ctx = context(to, tokens, sampling)
        proposer = make(to)
        proposer.begin(ctx)
        monkeypatch.setattr(probs, "draw", script)
        try:
            with torch.inference_mode():
                draft = proposer.propose(ctx, k)
        finally:
            monkeypatch.setattr(probs, "draw", real)
        proposer.end()
        drafts += 1
        for emitted, chance in outcomes(draft, p, size):
            for rest in itertools.product(range(size), repeat=k + 1 - len(emitted)):
                whole = (*emitted, *rest)
                tail = math.prod(float(p(*whole[:i])[whole[i]]) for i in range(len(emitted), k + 1))
                got[whole] = got.get(whole, 0.0) + script.chance * chance * tail
        if not script.next():
            break
    for whole in itertools.product(range(size), repeat=k + 1):
        want = math.prod(float(p(*whole[:i])[x]) for i, x in enumerate(whole))
        assert got.get(whole, 0.0) == pytest.approx(want, abs=1e-12)
    return drafts


def outcomes(draft: Draft | None, p: Callable[..., Tensor], size: int) -> Iterator[tuple[tuple[int, ...], float]]:
    """(emitted tokens, probability) of every result of verifying one draft. The probabilities are those that the verifier itself reports."""
    if draft is None:
        yield from (((x,), float(c)) for x, c in enumerate(p()) if c)
        return
    n, ids = len(draft), draft.tokens.tolist()
    parents = draft.parents.tolist() if draft.parents is not None else list(range(-1, n - 1))
    paths: list[tuple[int, ...]] = []
    for i in range(n):
        paths.append((*(paths[parents[i]] if parents[i] >= 0 else ()), ids[i]))
    dists = torch.stack([p(), *(p(*path) for path in paths)])

    def verified(u: list[float]) -> verify.VerifyResult:
        uniforms, half = torch.tensor(u, dtype=F64), torch.tensor(0.5, dtype=F64)
        if draft.parents is not None:
            return verify.tree(dists, draft.q, draft.tokens, Tree.of(draft.parents, draft.levels), uniforms, half)
        q = draft.q if draft.q is not None else verify.one_hot(draft.tokens, size, F64)
        return verify.chain(dists, q, draft.tokens, uniforms, half)

    chances = [min(1.0, float(x)) if x == x else 0.0 for x in verified([0.0] * n).acceptance_prob]
    below, above = [x * (1 - 1e-9) for x in chances], [min(x * (1 + 1e-9), 1 - 2 ** -53) for x in chances]     # u that accepts, u that rejects

    def walk(node: int, u: list[float], chance: float, path: list[int]):
        rejected = 1.0
        for child in (i for i in range(n) if parents[i] == node):
            if chances[child] > 0:
                mine = list(u)
                mine[child] = below[child]
                yield from walk(child, mine, chance * rejected * chances[child], [*path, child])
            u = list(u)
            u[child] = above[child]
            rejected *= 1 - chances[child]
        if chance * rejected > 0:
            v = verified(u)
            assert v.accepted.nonzero().flatten().tolist() == path and int(v.at) == node + 1
            before = tuple(ids[i] for i in path)
            yield from (((*before, x), chance * rejected * float(c)) for x, c in enumerate(v.residual) if c)

    yield from walk(-1, [0.0] * n, 1.0, [])
