"""Medusa: small heads on the target's last hidden state guess the tokens two, three, ... positions ahead, all at once.

Drawn by assets/js/watch/tree.js, a chain by assets/js/watch/cards.js.
"""
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.checkpoints.formats import medusa as medusa_format
from core.checkpoints.formats.medusa import MedusaTensors
from core.checkpoints.formats.sniff import sniff
from core.errors import UserError
from core.grammar.walk import Walk
from core.methods.base import Context, Draft, Proposer, SamplingContext
from core.methods.settings import Setting
from core.methods.static_tree import TYPICAL_ACCURACY, StaticTree
from core.models.decoder import Decoder
from core.models.host_copy import constant, to_device
from core.models.linear import Linear
from core.models.target import DecoderTarget
from core.sampling import probs, race
from core.sampling.tree import parse_shape

if TYPE_CHECKING:
    from core.checkpoints.load import Pair

MOST_NODES = 8          # of the trees that --draft-len auto considers


class MedusaHeads(nn.Module):
    """Head h reads the hidden state x of position i (after the target's final norm) and guesses token i + 2 + h:
    x = x + SiLU(W x + b) for each of its layers, then logits = lm_head(x). H hidden size, R rows of the output head."""

    def __init__(self, heads: MedusaTensors, target: Decoder) -> None:
        super().__init__()
        where = {"dtype": target.dtype, "device": target.device}
        self.target, self.count = [target], len(heads.blocks)       # in a list, so that it is no submodule
        self.token_map, self.accuracy = heads.token_map, heads.accuracy

        def linear(weight: Tensor, bias: Tensor | None) -> Linear:
            with torch.device("meta"):
                made = Linear(1, 1)
            made.weight = nn.Parameter(weight.to(**where), requires_grad=False)
            made.bias = nn.Parameter(bias.to(**where), requires_grad=False) if bias is not None else None
            return made

        def first(h: int) -> tuple[Tensor, Tensor | None]:
            return heads.blocks[h][0]

        biases = [first(h)[1] for h in range(self.count)]
        # all heads read the same hidden state, so their first layers are computed as one matrix
        self.first = linear(torch.cat([first(h)[0] for h in range(self.count)]), None if biases[0] is None else torch.cat(biases))
        self.later = nn.ModuleList(nn.ModuleList(linear(w, b) for w, b in layers[1:]) for layers in heads.blocks)
        self.lm_heads = nn.ModuleList(linear(w, None) for w in heads.lm_heads)

    def forward(self, hidden: Tensor) -> Tensor:
        """hidden [..., H], the target's last hidden state before its final norm -> logits [..., heads, R]."""
        h = self.target[0].norm(hidden)
        x = h.unsqueeze(-2)
        x = x + F.silu(self.first(h).unflatten(-1, (self.count, -1)))
        if len(self.later[0]):
            rows = []
            for one, layers in zip(x.unbind(-2), self.later):
                for layer in layers:
                    one = one + F.silu(layer(one))
                rows.append(one)
            x = torch.stack(rows, -2)
        if len(self.lm_heads) == self.count:
            return torch.stack([head(one) for head, one in zip(self.lm_heads, x.unbind(-2))], -2)
        return (self.lm_heads[0] if len(self.lm_heads) else self.target[0].head)(x)

    def pack(self, kernel: str) -> None:
        """Hand every linear layer to this CPU kernel (core.models.kernels)."""
        for module in self.modules():
            if isinstance(module, Linear):
                module.pack(kernel)


@dataclass(frozen=True)
class Guesses:
    """A captured function: the likeliest tokens of the first k heads, as a chain or a tree; in a coupled run the first ones of each head's race.
    It uses no cache."""
    heads: MedusaHeads
    sampling_ctx: SamplingContext
    k: int
    tree: StaticTree | None
    walk: Walk | None = None

    def __call__(self, cache: None, hidden: Tensor, seen: Tensor | None, noise: Tensor | None) -> tuple:
        """hidden [H] of the last token in the target's cache, seen [V], noise [k, V] of a coupled run or None -> the fields of a Draft."""
        raw, mapped, tree, device = self.heads(hidden)[:self.k], self.heads.token_map, self.tree, hidden.device
        if mapped is None:
            raw = raw[:, :self.sampling_ctx.vocab_size]
        elif seen is not None:
            seen = seen[mapped]
        width = 1 if tree is None else 1 + max(tree.ranks)
        scored = probs.scores(raw, self.sampling_ctx.sampling, seen)
        if noise is not None:
            scored = race.keys(scored, self.sampling_ctx.sampling, race.of_rows(noise, raw.shape[1], mapped))
        if self.walk is not None:
            return (self._walked(scored, mapped),)
        best = scored.topk(width).indices                                                                  # [k, width]
        if mapped is not None:
            best = mapped[best]
        if tree is None:
            return (best[:, 0],)
        tokens = best[constant(tuple(d - 1 for d in tree.depths), device), constant(tree.ranks, device)]
        return tokens, None, None, constant(tree.parents, device), tree.levels

    def _walked(self, scored: Tensor, mapped: Tensor | None) -> Tensor:
        """scored [k, R] -> a chain of each head's likeliest allowed token, which ends behind forced ones: for these the heads have no guess."""
        walk, out = self.walk, []
        for row in scored:
            allowed = walk.allowed()
            allowed = allowed[:row.shape[0]] if mapped is None else allowed[mapped]
            if walk.over or not allowed.any():
                break
            best = row.masked_fill(~allowed, -torch.inf).argmax()
            token = int(best if mapped is None else mapped[best])
            forced = walk.take(token)
            out += [token, *forced]
            if forced or walk.over:
                break
        return to_device(out, scored.device)


class Medusa(Proposer):
    """Cai et al. 2024. All nodes of a depth come from the same head's likeliest tokens, whatever their parents: deterministic, q one-hot."""

    name = "medusa"
    settings = (
        Setting("tree", str, "auto", "auto: a chain or the best sparse tree for the heads' measured accuracies; chain; or 3x2x1"),
        Setting("tree_tokens", int, 0, "nodes of a drafted tree; 0: as --draft-len auto finds best, a chain under another --draft-len", 0, 128),
    )

    def __init__(self, heads: MedusaHeads, tree: str = "auto", tree_tokens: int = 7) -> None:
        """Raises UserError for a tree that cannot be read, has more levels than there are heads, or is wider than their vocabulary."""
        self.heads, self.last_layer = heads, heads.target[0].config.num_layers
        self.aux_layers = (self.last_layer,)
        self.tree: StaticTree | None = None
        self.adaptive = tree == "auto" and not tree_tokens
        if self.adaptive:
            self.side_nodes = MOST_NODES
        elif tree in ("auto", "static"):
            self.tree = self._best(tree_tokens or MOST_NODES)
        elif tree != "chain":
            shape = parse_shape(tree)
            if len(shape) > heads.count:
                raise UserError(f"--tree {tree} is {len(shape)} levels deep; there are {heads.count} Medusa heads.", "shape_deep",
                                setting="tree", n=len(shape), most=heads.count)
            self.tree = StaticTree.full(shape)
        rows = heads.target[0].config.vocab_size if heads.token_map is None else heads.token_map.shape[0]
        if self.tree is not None and max(self.tree.ranks) >= rows:
            raise UserError(f"--tree {tree} asks for {1 + max(self.tree.ranks)} candidates; these heads know {rows} tokens.", "shape_wide",
                            setting="tree", n=1 + max(self.tree.ranks), most=rows)
        if self.tree is not None:
            self.side_nodes, self.levels = self.tree.nodes, self.tree.levels
        self.trees: dict[int, StaticTree] = {}      # by number of nodes
        self.hidden: Tensor | None = None           # [H], of the last token in the target's cache

    def _best(self, nodes: int) -> StaticTree:
        return StaticTree.best(self.heads.accuracy or [TYPICAL_ACCURACY] * self.heads.count, nodes)

    @classmethod
    def build(cls, pair: Pair, **settings) -> Medusa:
        if not isinstance(pair.target, DecoderTarget):
            raise UserError("Medusa heads read hidden states of a Llama-family target (Llama, Mistral, Qwen2, Qwen3); take lookup or draft here.")
        target = pair.target.model

        def load(folder: Path) -> MedusaHeads:
            heads = MedusaHeads(medusa_format.read(folder, sniff(folder), target.config, target.device), target)
            if target.draft_kernel:
                heads.pack(target.draft_kernel)
            return heads

        return cls(pair.head("medusa", load), **settings)

    def begin(self, ctx: Context) -> None:
        self.hidden = None

    def end(self) -> None:
        self.hidden = None

    def observe(self, ctx: Context, path: list[int]) -> None:
        if ctx.hidden_states:
            self.hidden = ctx.hidden_states[self.last_layer][-1]

    def propose(self, ctx: Context, k: int) -> Draft | None:
        k = min(k, self.heads.count)
        if k <= 0 or self.hidden is None:
            return None
        tree = self.tree
        if self.adaptive and ctx.nodes > k:
            tree = self.trees.setdefault(ctx.nodes, self._best(ctx.nodes))
        walk = ctx.walk(ctx.left) if tree is None else None
        guesses = Guesses(self.heads, ctx.sampling_ctx, k, tree.cut(k) if tree is not None else None, walk)
        return Draft(*ctx.runner.run(guesses, None, 0, self.hidden, ctx.seen, ctx.noise(k), capture=walk is None))
