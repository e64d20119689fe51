"""Where an EAGLE-3 head starts: at the best linear guess, written into the published layout.

Least squares predicts the target's final state at t + 1 from what the head may read: its states at t (three taps) and the embedding of
token t + 1. On SmolLM2-135M that alone agrees with the target on 0.27 of held-out tokens, before any training.

    fc             the part of the guess that comes from the states: g_0 already lies in the target's residual space
    SELF heads     attend to their own position and carry the embedding's part: v and o are the guess's best factors of their rank
    other heads    the target's last layer reading g, as is its MLP (with fewer neurons)
    norm, lm_head  the target's

Every head has a value of its own (as many kv heads as heads): three shared ones would let 192 numbers of the embedding through.
"""
from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from core.decoder import Decoder, Layer
from core.train.batches import Batch
from core.train.eagle import EagleHead
from core.train.start import copy_layer, narrow_config, neuron_order

SELF_SHARE = 2 / 3                  # of the heads
SELF_SCORE = 400.0                  # q.k at distance 0; after / sqrt(64) the nearest rival lies 10 below
SELF_WAVES = (0.4, 0.25, 0.2, 0.15)  # of that, by rotary frequency, fastest first: together they peak at distance 0 alone
RIDGE = 0.003


@torch.no_grad()
def eagle_from_target(target: Decoder, columns: Sequence[int], neurons: int, token_ids: Tensor, batches: Sequence[Batch]) -> EagleHead:
    """columns: which of the batches' states are the taps. Positions of `batches` are what the guess is fitted on."""
    c = dataclasses.replace(narrow_config(target.config, 1, neurons), num_kv_heads=target.config.num_heads)
    head = EagleHead(c, len(columns), len(token_ids)).to(target.device)
    _copy_last_layer(head, target, torch.cat([b.states[b.counts][:, -1] for b in batches[:4]]))
    from_states, from_embedding, constant, cov = _fit(target, columns, batches)
    head.fc.copy_(from_states)
    _self_heads(head, from_embedding, constant, cov)
    head.norm.copy_(target.final_norm)
    head.lm_head.copy_(target.head.weight[token_ids])
    return head


def _copy_last_layer(head: EagleHead, target: Decoder, sample: Tensor) -> None:
    c, old = target.config, target.layers[-1]
    new = Layer(dataclasses.replace(narrow_config(c, 1, head.config.intermediate_size)), device=target.device)
    copy_layer(new, old, neuron_order(old, sample.to(target.dtype)))
    q, k, v = new.qkv.weight.split([c.num_heads * c.head_dim, c.num_kv_heads * c.head_dim, c.num_kv_heads * c.head_dim])
    h, group = c.hidden_size, c.num_heads // c.num_kv_heads
    head.q_proj[:, h:] = q
    for ours, shared in ((head.k_proj, k), (head.v_proj, v)):
        ours[:, h:] = shared.view(c.num_kv_heads, 1, c.head_dim, h).expand(-1, group, -1, -1).reshape(-1, h)
    gate, up = new.gate_up.weight.chunk(2)
    for mine, theirs in ((head.o_proj, new.o.weight), (head.gate_proj, gate), (head.up_proj, up), (head.down_proj, new.down.weight),
                         (head.hidden_norm, new.input_norm), (head.post_attention_layernorm, new.post_norm)):
        mine.copy_(theirs)


def _fit(target: Decoder, columns: Sequence[int], batches: Sequence[Batch]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(fc [H, T*H], B [H, H], constant [H], second moments [H, H] of the normed embedding): y = fc s + B e, and constant . e = 1."""
    h, eps = target.config.hidden_size, target.config.rms_norm_eps
    gram = wanted = own = ones = 0.0
    size, count = 0.0, 0
    for b in batches:
        keep = b.counts[:, 1:].clone()
        final = b.states[:, 1:, -1][keep].float()
        size, count = size + float(final.pow(2).mean(-1).sqrt().sum()), count + len(final)
        embedded = F.rms_norm(F.embedding(b.ids[:, 1:][keep], target.embed).float(), (h,), eps=eps)
        x = torch.cat([b.states[:, :-1, columns][keep].flatten(1).float(), embedded], -1).double()
        gram, wanted = gram + x.T @ x, wanted + x.T @ F.rms_norm(final, (h,), eps=eps).double()
        every = F.rms_norm(F.embedding(b.ids[:, 1:][_within(b)], target.embed).float(), (h,), eps=eps).double()
        own, ones = own + every.T @ every, ones + every.sum(0)
    scale = gram.diagonal().clamp(min=1e-12).rsqrt()          # taps differ in size by orders of magnitude
    gram = gram * scale[:, None] * scale
    eye = torch.eye(len(gram), dtype=gram.dtype, device=gram.device)
    solution = scale[:, None] * torch.linalg.solve(gram + RIDGE * eye, scale[:, None] * wanted) * (size / count)
    constant = torch.linalg.solve(own + RIDGE * own.diagonal().mean() * eye[:h, :h], ones)
    return solution[:-h].T.float(), solution[-h:].T.float(), constant.float(), (own / len(own)).float()


def _within(batch: Batch) -> Tensor:
    """[B, L - 1]: rows whose token t + 1 is of the text, prompt included, and not padding."""
    return batch.counts[:, :-1].flip(1).cumsum(1).flip(1) > 0


def _self_heads(head: EagleHead, matrix: Tensor, constant: Tensor, cov: Tensor) -> None:
    """Let the first heads attend to their own position and add `matrix` times the normed embedding, in its best factors."""
    c = head.config
    n, h, d = round(c.num_heads * SELF_SHARE), c.hidden_size, c.head_dim
    values, vectors = torch.linalg.eigh(cov.double())
    values = values.clamp(min=values[-1] * 1e-6)
    root, inverse = (vectors * values.sqrt()) @ vectors.T, (vectors / values.sqrt()) @ vectors.T
    u, s, vt = torch.linalg.svd(matrix.double() @ root)       # the factors that matter for embeddings as they occur
    rank = min(n * d, h)
    head.v_proj[:n * d] = 0
    head.o_proj[:, :n * d] = 0
    head.v_proj[:rank, :h] = (vt[:rank] @ inverse).float()
    head.o_proj[:, :rank] = (u[:, :rank] * s[:rank]).float()
    wave = torch.zeros(d, device=matrix.device)
    share = torch.tensor(SELF_WAVES[:d // 2])
    wave[:len(share)] = (share / share.sum() * SELF_SCORE * (d / 64) ** 0.5).sqrt()
    for weight in (head.q_proj, head.k_proj):
        weight[:n * d] = 0
        weight[:n * d, :h] = wave.repeat(n)[:, None] * constant
