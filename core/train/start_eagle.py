"""Initial weights of an EAGLE-3 head: the best linear prediction of the target's next hidden state, in the published layout.

Let h_t be the target's last hidden state at t, scaled to root mean square 1, and e the normed embedding. Least squares finds M with
h_{t+1} = M [e_{t+1}; h_t]. It is fitted on h_t and also on rollouts, where a prediction takes the place of h_t. On SmolLM2-135M its
argmax agrees with the target's for 0.24, 0.22, 0.21, 0.21 of the held-out tokens at depths 1 to 4, before any training.

    fc             computes h_t from the three aux layers
    residual       carries h_t, so that attention has to add M [e; h] - h
    first heads    attend only to their own position; v and o are the best low-rank factors of that map (_self_heads)
    other heads    are those of the target's last layer, reading h; the MLP is that layer's too, with fewer neurons
    norm, lm_head  are the target's

There are as many kv heads as query heads: with the target's three shared ones, only 192 numbers could pass.
"""
from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from core.models.decoder import Decoder, Layer
from core.train.batches import Batch
from core.train.eagle import STEP_WEIGHT, STEPS, EagleModule
from core.train.start import copy_layer, narrow_config, neuron_order

SELF_SHARE = 2 / 3                  # share of the heads that attend only to their own position
SELF_SCORE = 400.0                  # q.k at distance 0; divided by sqrt(64), the score at any other distance is at least about 10 lower
SELF_WAVES = (0.4, 0.25, 0.2, 0.15)  # shares of that score by rotary frequency, fastest first: their sum has its only peak at distance 0
COPIED = 0.05                       # scale of the copied parts: at full size they spoil the linear prediction more than they help
RIDGE = 0.003                       # of the least squares, relative to the mean of the diagonal
ROUNDS = 3                          # of fitting M, each on rollouts with the last M


@torch.no_grad()
def eagle_from_target(target: Decoder, columns: Sequence[int], neurons: int, token_ids: Tensor, batches: Sequence[Batch]) -> EagleModule:
    """columns: which of the batches' hidden states are those of the aux layers. batches: the texts that everything is fitted on."""
    c = dataclasses.replace(narrow_config(target.config, 1, neurons), num_kv_heads=target.config.num_heads)
    head = EagleModule(c, len(columns), len(token_ids)).to(target.device)
    last = torch.cat([b.hidden_states[b.counts][:, -1] for b in batches[:4]])
    _copy_last_layer(head, target, last, COPIED / float(last.float().pow(2).mean(-1).sqrt().mean()))
    fc, scale = _fit_states(columns, batches)
    head.fc.copy_(fc), head.tap_scale.copy_(scale)
    matrix = moments = None
    for _ in range(ROUNDS):
        matrix, moments = _fit_guess(head, target.embed, columns, batches, matrix)
    h = c.hidden_size
    added = matrix.clone()
    added[:, h:] -= torch.eye(h, device=matrix.device)
    _self_heads(head, added, moments, _constant(target.embed, batches))
    head.norm.copy_(target.final_norm)
    head.lm_head.copy_(target.head.weight[token_ids])
    return head


def _copy_last_layer(head: EagleModule, target: Decoder, sample: Tensor, size: float) -> None:
    """Copy the target's last layer into the head's state half. sample [n, H]: to rank MLP neurons; size: scale of what it adds."""
    c, old = target.config, target.layers[-1]
    new = Layer(narrow_config(c, 1, head.config.intermediate_size), device=target.device)
    copy_layer(new, old, neuron_order(old, sample.to(target.dtype)))
    q, k, v = (new.qkv.weight * new.input_norm).split([c.num_heads * c.head_dim, c.num_kv_heads * c.head_dim, c.num_kv_heads * c.head_dim])
    h, group = c.hidden_size, c.num_heads // c.num_kv_heads
    head.q_proj[:, h:] = q
    for ours, shared in ((head.k_proj, k), (head.v_proj, v)):
        ours[:, h:] = shared.view(c.num_kv_heads, 1, c.head_dim, h).expand(-1, group, -1, -1).reshape(-1, h)
    gate, up = new.gate_up.weight.chunk(2)
    for mine, theirs in ((head.o_proj, new.o.weight * size), (head.gate_proj, gate), (head.up_proj, up), (head.down_proj, new.down.weight * size),
                         (head.post_attention_layernorm, new.post_norm)):
        mine.copy_(theirs)


def _unit(x: Tensor) -> Tensor:
    """x scaled to root mean square 1."""
    return F.rms_norm(x.float(), x.shape[-1:])


def _no_padding(batch: Batch) -> Tensor:
    """[B, L - 1] bool: rows t whose token t + 1 belongs to the text (prompt included) and is no padding."""
    return batch.counts[:, :-1].flip(1).cumsum(1).flip(1) > 0


def _solve(gram: Tensor, wanted: Tensor) -> Tensor:
    """Ridge regression from the normal equations."""
    eye = torch.eye(len(gram), dtype=gram.dtype, device=gram.device)
    return torch.linalg.solve(gram + RIDGE * gram.diagonal().mean() * eye, wanted)


def _fit_states(columns: Sequence[int], batches: Sequence[Batch]) -> tuple[Tensor, Tensor]:
    """(fc [H, T*H], scale [T*H]) with fc (scale * hidden states of the aux layers) = h."""
    gram, wanted, count = 0.0, 0.0, 0
    for b in batches:
        x = b.hidden_states[:, :, columns][b.counts].flatten(1).double()
        gram, wanted, count = gram + x.T @ x, wanted + x.T @ _unit(b.hidden_states[:, :, -1][b.counts]).double(), count + len(x)
    scale = (gram.diagonal() / count).clamp(min=1e-12).rsqrt()
    return _solve(gram * scale[:, None] * scale, scale[:, None] * wanted).T.float(), scale.float()


def _fit_guess(head: EagleModule, embed: Tensor, columns: Sequence[int], batches: Sequence[Batch], matrix: Tensor | None) -> tuple[Tensor, Tensor]:
    """(M [H, 2H], second moments [2H, 2H] of its inputs). matrix: the M for the rollouts; None: fit on the target's hidden states alone."""
    gram = wanted = 0.0
    for b in batches:
        embedded, want = _unit(F.embedding(b.ids[:, 1:], embed)), _unit(b.hidden_states[:, 1:, -1])
        g = F.linear(b.hidden_states[:, :-1, columns].flatten(2).float() * head.tap_scale, head.fc)
        for s in range(1 if matrix is None else STEPS):
            keep = b.counts[:, 1:].clone()
            keep[:, :s] = False
            rows = torch.cat([embedded, _unit(g)], -1)
            x, weight = rows[keep].double(), STEP_WEIGHT ** s
            gram, wanted = gram + weight * (x.T @ x), wanted + weight * (x.T @ want[keep].double())
            if matrix is not None:
                g = F.pad((rows @ matrix.T)[:, :-1], (0, 0, 1, 0))
    return _solve(gram, wanted).T.float(), gram / gram.diagonal().mean()


def _constant(embed: Tensor, batches: Sequence[Batch]) -> Tensor:
    """c [H] with c . e = 1, in least squares, for every token that occurs: queries and keys that are the same everywhere."""
    gram = ones = 0.0
    for b in batches:
        e = _unit(F.embedding(b.ids[:, 1:][_no_padding(b)], embed)).double()
        gram, ones = gram + e.T @ e, ones + e.sum(0)
    return _solve(gram, ones).float()


def _self_heads(head: EagleModule, added: Tensor, moments: Tensor, constant: Tensor) -> None:
    """Let the first heads attend only to their own position and add `added` [H, 2H] times the normed input, in the best low-rank factors."""
    c = head.config
    n, h, d = round(c.num_heads * SELF_SHARE), c.hidden_size, c.head_dim
    rank = min(n * d, h)
    eye = torch.eye(2 * h, dtype=moments.dtype, device=moments.device)
    root = torch.linalg.cholesky(moments + 1e-4 * eye)
    u, s, vt = torch.linalg.svd(root.T @ added.T.double(), full_matrices=False)
    head.v_proj[:n * d] = 0
    head.o_proj[:, :n * d] = 0
    head.v_proj[:rank] = torch.linalg.solve_triangular(root.T, u[:, :rank], upper=True).T.float()
    head.o_proj[:, :rank] = (s[:rank, None] * vt[:rank]).T.float()
    wave = torch.zeros(d, device=constant.device)
    share = torch.tensor(SELF_WAVES[:d // 2])
    wave[:len(share)] = (share / share.sum() * SELF_SCORE * (d / 64) ** 0.5).sqrt()
    for weight in (head.q_proj, head.k_proj):
        weight[:n * d] = 0
        weight[:n * d, :h] = wave.repeat(n)[:, None] * constant
