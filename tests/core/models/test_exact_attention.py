"""Exact attention and the row-exact decoder: chains, trees, batches and captured buffers give each row the bits of passes over one."""
from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from core.models import exact_attention, kernels, rope
from core.models.target import DecoderTarget, graph_runner
from core.sampling.tree import Tree
from tests.core import tiny

SIZES = {"hidden_size": 64, "intermediate_size": 96, "num_heads": 4, "num_kv_heads": 2, "head_dim": 16, "vocab_size": 32, "max_positions": 400}
KINDS = {"llama": {}, "window": {"sliding_window": 9}, "qwen3": {"qk_norm": True}, "bias": {"qkv_bias": True}, "one group": {"num_kv_heads": 4},
         "odd head": {"head_dim": 24}}
EXACT = [name for name in ("w16a32", "w8a16") if kernels.available(name)]


def decoder(kind: str = "llama", name: str = "w16a32", exact: bool = True):
    model = tiny.decoder(3, torch.float32, **SIZES | KINDS[kind])
    model.pack(name, exact)
    return model


def ids(n: int, seed: int = 0):
    return torch.randint(32, (n,), generator=torch.Generator().manual_seed(seed))


@torch.inference_mode()
def test_it_is_attention():
    rng = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(1, 3, 7, 16, generator=rng) for _ in range(3))
    cos, sin = rope.tables(tiny.config(head_dim=16), 7, torch.float32, "cpu")
    turned = [x.transpose(1, 2).unflatten(-1, (2, 8)) for x in (q, k)]
    want_q, want_k = ((x * cos[:, None] + x.flip(-2) * sin[:, None]).flatten(-2).transpose(1, 2) for x in turned)
    want = F.scaled_dot_product_attention(want_q.double(), want_k.double(), v.double(), is_causal=True)[0]
    heads = torch.cat([q, k, v], 1).transpose(1, 2)[0].flatten(1)[:, exact_attention.paired(3, 3, 16)].view(7, 9, 8, 2)
    factors = exact_attention.turns(cos.unsqueeze(1), sin.unsqueeze(1), 3, 3)
    steps = torch.view_as_real(torch.view_as_complex(heads) * factors).flatten(-2).round().double().transpose(0, 1)
    mask = torch.zeros(7, 7, dtype=torch.float64).masked_fill(torch.ones(7, 7).triu(1) > 0, -torch.inf)
    got = exact_attention.attend(*steps.split(3), mask)
    assert (got - want).abs().max() < 1e-3


@torch.inference_mode()
@pytest.mark.parametrize("kind", KINDS)
def test_a_row_exact_decoder_is_the_decoder(kind):
    plain, exact = tiny.decoder(3, torch.float32, **SIZES | KINDS[kind]), decoder(kind)
    tokens = ids(40)[None]
    torch.testing.assert_close(exact(tokens), plain(tokens), rtol=0.02, atol=0.1)
    assert exact.row_exact and exact.arithmetic == "w16a32" and not plain.row_exact and plain.arithmetic == "float32"
    assert not decoder(kind, exact=False).row_exact


@torch.inference_mode()
@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("kind", KINDS)
def test_a_pass_over_many_is_many_passes_over_one(kind, name):
    model, tokens = decoder(kind, name), ids(390)
    cache, want = model.new_cache(390), []
    for i in range(390):
        want.append(model(tokens[None, i:i + 1], cache)[0])
    want = torch.cat(want)
    assert torch.equal(model(tokens[None, :380])[0], want[:380])                        # a whole prompt at once
    rng, at = torch.Generator().manual_seed(1), 0
    cache = model.new_cache(390)
    while at < 390:                                                                     # all cache lengths, all sizes of a pass
        k = min(int(torch.randint(1, 14, (1,), generator=rng)), 390 - at)
        assert torch.equal(model(tokens[None, at:at + k], cache)[0], want[at:at + k]), (at, k)
        at += k


@torch.inference_mode()
@pytest.mark.parametrize("kind", KINDS)
def test_every_path_of_a_tree_is_a_chain(kind):
    model, start = decoder(kind), ids(21)
    parents = torch.tensor([-1, -1, 0, 0, 1, 2, 5, 4])
    nodes, tree = ids(8, 2), Tree.of(parents, 5)
    cache = model.new_cache(60)
    model(start[None, :-1], cache)
    length = cache.length
    got = model(torch.cat([start[-1:], nodes])[None], cache, tree.pass_shape(1))[0]
    for node in range(8):
        path = tree.ancestors[node].nonzero()[:, 0]
        cache.truncate(length)
        want = model(torch.cat([start[-1:], nodes[path]])[None], cache)[0]
        assert torch.equal(got[node + 1], want[-1])
        single = model.new_cache(60)
        for token in torch.cat([start, nodes[path]]):
            alone = model(token.view(1, 1), single)[0, 0]
        assert torch.equal(alone, want[-1])


@torch.inference_mode()
def test_rows_of_a_batch_are_alone():
    model, tokens = decoder(), torch.stack([ids(30), ids(30, 5)])
    for row, got in zip(tokens, model(tokens)):
        assert torch.equal(model(row[None])[0], got)


@torch.inference_mode()
@pytest.mark.parametrize("kind", ["llama", "window"])
def test_captured_buffers_give_the_same_bits(kind):
    model, tokens = decoder(kind), ids(60)
    to, direct = DecoderTarget(model), model.new_cache(64)
    runner = graph_runner(to, True)
    assert runner.mode == "static"
    cache, at = runner.lend(model, 64), 0

    def function(cache, given):
        return (model(given[None], cache)[0],)

    for k in (5, 1, 4, 4, 1, 7, 12, 20):
        want = model(tokens[None, at:at + k], direct)[0]
        assert torch.equal(runner.run(function, cache, k, tokens[at:at + k])[0], want)
        at += k
