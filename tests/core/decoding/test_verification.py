"""The tensor half of a round: one packed set of facts, the same whether called as a whole or in its two halves, in each kind of draft."""
from __future__ import annotations

import pytest
import torch

from core.decoding.round_result import RoundResult
from core.decoding.verification import Verification
from core.methods.base import Draft, SamplingContext, TargetPass
from core.models.host_copy import start_copy, wait
from core.sampling.probs import Sampling
from tests.core import tiny
from tests.core.tiny import F64, PROMPT

V = tiny.target().vocab_size
HALF = torch.full((4,), 0.5, dtype=F64)


def drawn(n: int) -> torch.Tensor:
    return torch.full((n, V), 1 / V, dtype=F64)


DRAFTS = {"nothing": lambda: Draft(torch.empty(0, dtype=torch.long)), "certain chain": lambda: Draft(torch.tensor([3, 4, 5])),
          "drawn chain": lambda: Draft(torch.tensor([3, 4, 5]), drawn(3), drawn(3).log()),
          "certain tree": lambda: Draft(torch.tensor([3, 4, 5]), parents=torch.tensor([-1, -1, 1]), levels=2),
          "drawn tree": lambda: Draft(torch.tensor([3, 4, 5]), drawn(3), drawn(3).log(), torch.tensor([-1, -1, 1]), 2)}


def verification(to, draft: Draft, sampling: Sampling, how: str = "chain", record: bool = True) -> Verification:
    return Verification(TargetPass(to), SamplingContext(sampling, V, F64, record), draft.levels, how, 0.09, 0.3)


def cache_of(to):
    cache = to.new_cache(32)
    to.verify(torch.tensor(PROMPT[:-1]), cache, 1)
    return cache


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(1.0), Sampling(0.9, 9, 0.9, 0.01, 1.4)], ids=["greedy", "T=1", "all"])
@pytest.mark.parametrize("kind", DRAFTS)
def test_the_whole_is_its_two_halves(kind, sampling):
    to, draft = tiny.target(), DRAFTS[kind]()
    step, uncached = verification(to, draft, sampling), torch.tensor(PROMPT[-1:])
    u = None if sampling.greedy else torch.linspace(0.1, 0.9, len(draft) + 1, dtype=F64)
    seen = torch.zeros(V, dtype=torch.bool).index_fill_(0, torch.tensor(PROMPT), True) if sampling.repetition_penalty != 1 else None
    with torch.inference_mode():
        flat, layout, next_id = step(cache_of(to), uncached, u, seen, None, *draft.tensors())
        tree, logits, hidden_states = step.forward(cache_of(to), uncached, draft)
        again, same, next_again = step.accept(draft, tree, logits, u, seen)
    assert torch.equal(flat, again) and layout == same and torch.equal(next_id, next_again) and hidden_states == []
    result = RoundResult.of(wait(start_copy(flat, layout)))
    assert result.last == int(next_id) and len(result.tokens) == len(draft) and logits.shape == (len(draft) + 1, V)


def test_greedy_accepts_what_the_target_would_have_said():
    to, sampling = tiny.target(), Sampling()
    right = tiny.greedy(to.model, PROMPT, 3)
    for n in range(4):
        tokens = [*right[:n], *((t + 1) % V for t in right[n:])]
        with torch.inference_mode():
            flat, layout, _ = verification(to, Draft(torch.tensor(tokens)), sampling)(
                cache_of(to), torch.tensor(PROMPT[-1:]), None, None, None, *Draft(torch.tensor(tokens)).tensors())
        result = RoundResult.of(wait(start_copy(flat, layout)))
        assert result.path == list(range(n)) and (n == 3 or result.last == right[n]) and result.recovered == (n < 3)


@pytest.mark.parametrize("how", ["block", "typical"])
def test_the_other_verifiers_are_asked_for_by_name(how, monkeypatch):
    from core.sampling import verify
    asked, draft, real, to = [], DRAFTS["drawn chain"](), getattr(verify, how), tiny.target()
    monkeypatch.setattr(verify, how, lambda *args: asked.append(how) or real(*args))
    with torch.inference_mode():
        verification(to, draft, Sampling(1.0), how)(cache_of(to), torch.tensor(PROMPT[-1:]), HALF, None, None, *draft.tensors())
    assert asked == [how]


def test_without_the_recorder_no_tables_travel():
    to, draft = tiny.target(), DRAFTS["drawn chain"]()
    for record in (True, False):
        with torch.inference_mode():
            step = verification(to, draft, Sampling(1.0), record=record)
            _, layout, _ = step(cache_of(to), torch.tensor(PROMPT[-1:]), HALF, None, None, *draft.tensors())
        assert any(name.startswith("table.") for name, _ in layout) == record
