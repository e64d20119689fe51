"""Chi-square test of sampled two-token continuations under every sampling option, with faulty verifiers that it must reject."""
from __future__ import annotations

import pytest
import torch
from scipy.stats import chisquare

from core.methods.draft_model import DraftModel
from core.sampling import probs, verify
from core.sampling.probs import Sampling
from tests.core import tiny
from tests.core.tiny import F64

SIZE, SAMPLES, PROMPT = 8, 20_000, [3, 1, 4, 1, 5]
OPTIONS = {"T=1": Sampling(1.0), "T=0.6": Sampling(0.6), "T=1.7": Sampling(1.7), "top-k": Sampling(1.0, top_k=4), "top-p": Sampling(1.3, top_p=0.85),
           "min-p": Sampling(1.2, min_p=0.1), "penalty": Sampling(1.0, repetition_penalty=2.5), "all": Sampling(1.4, 6, 0.95, 0.03, 1.6)}
KINDS = {"other model": (7, None), "reduced vocabulary": (7, [0, 2, 3, 5]), "the same": (0, None)}


def dists(model, sampling: Sampling, token_map: list[int] | None = None) -> tuple[torch.Tensor, torch.Tensor]:
    """First-token distribution [V] and the second-token distribution after each first token [V, V]; with a token_map only over its ids."""
    def dist(tokens: list[int]) -> torch.Tensor:
        logits = tiny.logits_after(model, tokens)
        seen = torch.zeros(SIZE, dtype=torch.bool)
        seen[tokens] = True
        if token_map is None:
            return probs.probabilities(probs.scores(logits, sampling, seen), sampling)
        ids = torch.tensor(token_map)
        return torch.zeros(SIZE, dtype=F64).index_copy(0, ids, probs.probabilities(probs.scores(logits[ids], sampling, seen[ids]), sampling))
    return dist(PROMPT), torch.stack([dist([*PROMPT, x]) for x in range(SIZE)])


@pytest.fixture(scope="module")
def models():
    return {seed: tiny.decoder(seed, vocab_size=SIZE) for seed in (0, 7)}


def sample(p: tuple, q: tuple, seed: int, draw_from=None, verifier=None) -> torch.Tensor:
    """[SAMPLES, 2] tokens: a round that drafts two tokens and, where the first was rejected, a second round that drafts one.

    draw_from: the distribution the drafted tokens really come from, if not q. verifier(p, q, drafted, u, u_next) -> VerifyResult.
    """
    rng = torch.Generator().manual_seed(seed)
    draw_from, verifier = draw_from or q, verifier or verify.chain

    def u(*shape: int) -> torch.Tensor:
        return torch.rand(*shape, generator=rng, dtype=F64)

    n = SAMPLES
    x1 = probs.draw(draw_from[0].expand(n, SIZE), u(n))
    x2 = probs.draw(draw_from[1][x1], u(n))
    v = verifier(torch.stack([p[0].expand(n, SIZE), p[1][x1], p[1][x2]], 1), torch.stack([q[0].expand(n, SIZE), q[1][x1]], 1),
                 torch.stack([x1, x2], 1), u(n, 2), u(n))
    count = v.accepted.sum(-1)
    first = torch.where(count > 0, x1, v.next_id)
    again = probs.draw(draw_from[1][first], u(n))                   # the next round, where the first draft was rejected
    w = verifier(torch.stack([p[1][first], p[1][again]], 1), q[1][first][:, None], again[:, None], u(n, 1), u(n))
    later = torch.where(w.accepted[:, 0], again, w.next_id)
    return torch.stack([first, torch.where(count == 0, later, torch.where(count == 1, v.next_id, x2))], 1)


def p_value(tokens: torch.Tensor, p: tuple) -> float:
    """Chi-square of the pairs against p."""
    want = (p[0][:, None] * p[1]).flatten()
    return pooled(torch.bincount(tokens[:, 0] * SIZE + tokens[:, 1], minlength=SIZE * SIZE), want)


def pooled(counts: torch.Tensor, want: torch.Tensor) -> float:
    """Chi-square of counts [cells] against probabilities [cells]. Rare cells are pooled; an impossible one that occurs gives p-value 0."""
    n = int(counts.sum())
    if counts[want == 0].sum():
        return 0.0
    common, some = want * n >= 10, (want > 0) & (want * n < 10)
    seen, expected = counts[common].tolist(), (want[common] * n).tolist()
    if some.any():
        seen.append(int(counts[some].sum()))
        expected.append(float(want[some].sum() * n))
    if len(seen) < 2:
        return 1.0
    total = sum(seen) / sum(expected)
    return float(chisquare(seen, [e * total for e in expected]).pvalue)


@pytest.mark.parametrize("sampling", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_two_token_continuations_follow_the_target(models, kind, sampling):
    seed, token_map = KINDS[kind]
    p, q = dists(models[0], sampling), dists(models[seed], sampling, token_map)
    assert p_value(sample(p, q, 11), p) > 0.001


def no_residual(p, q, drafted, u, u_next):
    """A faulty verifier: it draws the next token from p instead of the residual."""
    v = verify.chain(p, q, drafted, u, u_next)
    v.next_id = probs.draw(verify._row(p, v.at), u_next)
    return v


@pytest.mark.parametrize("kind", ["resampled from p", "argmax draft with softmax q", "temperature on the target alone", "no verification"])
def test_faulty_verification_is_rejected(models, kind):
    """The negative controls of the test above."""
    sampling = Sampling(0.6)
    p, q = dists(models[0], sampling), dists(models[7], sampling)
    if kind == "resampled from p":
        got = sample(p, q, 11, verifier=no_residual)
    elif kind == "argmax draft with softmax q":
        got = sample(p, q, 11, draw_from=tuple(torch.nn.functional.one_hot(x.argmax(-1), SIZE).double() for x in q))
    elif kind == "temperature on the target alone":
        got = sample(p, q, 11, draw_from=dists(models[7], Sampling(1.0)))
    else:
        got = sample(q, q, 11)
    assert p_value(got, p) < 1e-6


@pytest.mark.usefixtures("runner")
@pytest.mark.parametrize(("name", "sampling"), [
    ("other", Sampling(1.2, top_p=0.95)), ("scripted", Sampling(1.0)),
    pytest.param("near", Sampling(1.0, repetition_penalty=1.8), marks=pytest.mark.long)])
def test_runs_of_the_real_loop_follow_the_target(models, name, sampling):
    """300 seeds through the whole decode loop, at least three tokens each, so that the first pair comes from speculative rounds."""
    to = tiny.DecoderTarget(models[0], None, ())
    proposer = {"other": DraftModel(models[7]), "scripted": tiny.perfect(models[0]), "near": DraftModel(near(models[0]))}[name]
    tokens = [tiny.decode(to, proposer, PROMPT, sampling=sampling, seed=seed, max_new_tokens=4, draft_len=2, record=False)[0].new_tokens
              for seed in range(300)]
    p = dists(models[0], sampling)
    pairs = torch.tensor([t[:2] for t in tokens])
    assert p_value(pairs, p) > 0.001
    assert len({tuple(t) for t in tokens}) > 50


def near(model):
    other = tiny.decoder(0, vocab_size=SIZE)
    other.head.weight.data += 0.3 * torch.randn(other.head.weight.shape, generator=torch.Generator().manual_seed(2), dtype=F64)
    return other
