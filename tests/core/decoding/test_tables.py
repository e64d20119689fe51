"""The recorded tables agree with the whole distributions."""
from __future__ import annotations

import math

import pytest
import torch

from core.decoding import tables
from core.methods.draft_model import DraftModel
from core.sampling import probs
from core.sampling.probs import Sampling
from tests.core import check, tiny
from tests.core.tiny import PROMPT, decode


@pytest.mark.parametrize("size", [3, 10, 11, 5119, 5120, 5121, 6000, 49152])
def test_top_ids_are_those_of_a_sort(size):
    rows = torch.randn(4, size, generator=torch.Generator().manual_seed(size))
    if size > 6000:
        rows[0, -10:] += 100                       # all in the last block and the ids after it
        rows[1, ::700] += 100                      # each in a block of its own
        rows[2, 1000:1010] += 100                  # all in one block
    assert torch.equal(tables.top_ids(rows), rows.topk(min(10, size), -1).indices)


def test_top_ids_of_equals_are_ten_different_ones():
    ids = tables.top_ids(torch.zeros(2, 20_000))
    assert all(len(set(row.tolist())) == 10 for row in ids)


@pytest.mark.parametrize(("x", "want"), [(0.123456789, 0.123457), (1e-12, 1e-12), (-math.inf, None), (math.nan, None), (0.0, 0.0)])
def test_numbers_are_short(x, want):
    assert tables.short(x) == want


VARIED = {"T=1": Sampling(1.0), "penalty": Sampling(0.9, repetition_penalty=6.0), "cut": Sampling(1.3, 5, 0.8), "greedy": Sampling()}


@pytest.mark.parametrize("sampling", VARIED.values(), ids=VARIED)
def test_tables_hold_both_distributions(sampling):
    """Which ids are listed, with which values, and what is summed in `others`, against forwards without cache. V = 60 exceeds a table."""
    to = tiny.DecoderTarget(tiny.decoder(vocab_size=60), None, ())
    draft = tiny.decoder(7, vocab_size=60)
    rejected = 0
    for seed in range(4):
        run, rounds = decode(to, DraftModel(draft), sampling=sampling, seed=seed)
        check.run(run, rounds, len(PROMPT))
        tokens = list(PROMPT)
        for r in rounds:
            for table in r.tables:
                prefix = tokens + [d.id for d in r.drafted[:table.after + 1]]
                p, logits = tiny.dist_after(to.model, prefix, sampling), tiny.logits_after(to.model, prefix)
                listed(table.ids, table.p, table.others["p"], p)
                assert table.logit_p == pytest.approx(logits[table.ids].tolist(), rel=1e-4, abs=1e-6)
                assert top(scores(to.model, prefix, sampling)) <= set(table.ids)
                if table.q is None:
                    continue
                q = tiny.dist_after(draft, prefix, sampling)
                listed(table.ids, table.q, table.others["q"], q)
                assert table.logit_q == pytest.approx(tiny.logits_after(draft, prefix)[table.ids].tolist(), rel=1e-4, abs=1e-6)
                assert table.overlap == pytest.approx(float(torch.minimum(p, q).sum()), abs=1e-5)
                assert top(scores(draft, prefix, sampling)) <= set(table.ids), "the ten likeliest of the draft are listed"
                if table.residual is not None:
                    rejected += 1
                    rest = (p - q).clamp_min(0)
                    listed(table.ids, table.residual, table.others["residual"], rest / rest.sum())
            tokens += [e.id for e in r.emitted]
    assert rejected > 5


def scores(model, prefix, sampling):
    seen = torch.zeros(60, dtype=torch.bool)
    seen[prefix] = True
    return probs.scores(tiny.logits_after(model, prefix), sampling, seen)


def top(scored) -> set[int]:
    return set(scored.topk(10).indices.tolist())


def listed(ids, values, others, dist):
    assert values == pytest.approx(dist[ids].tolist(), rel=1e-4, abs=1e-9)
    assert others == pytest.approx(1 - float(dist[ids].sum()), abs=2e-5)
