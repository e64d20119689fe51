"""EAGLE-1, 2 and 3: a head that reads the target's inner states drafts a chain, a fixed tree, or the likeliest tree it can see.

After each round the head's cache holds rows made of the target's real states alone: drafted rows are forgotten, and the accepted
tokens are read again with the states that verification found for them.

Drawn by assets/js/watch/tree.js, a chain by assets/js/watch/cards.js.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from core.checkpoints.formats import eagle as eagle_format
from core.checkpoints.formats.sniff import sniff
from core.errors import UserError
from core.methods.base import Context, Draft, Proposer, Rules
from core.methods.chain import Chain
from core.methods.eagle_head import EagleHead
from core.methods.settings import Setting
from core.methods.static_tree import PRIOR, StaticTree
from core.models.cache import KVCache, Window
from core.models.host_copy import constant
from core.models.target import DecoderTarget
from core.sampling import probs
from core.sampling.tree import parse_shape

if TYPE_CHECKING:
    from core.checkpoints.load import Pair

DEEPEST = 16


@dataclass(frozen=True)
class Reading:
    """What the three regions share: the head reads the last tokens with the target's states, then drafts on from the last row."""
    head: EagleHead
    rules: Rules

    def __call__(self, cache: KVCache | Window, ids: Tensor, u: Tensor | None, seen: Tensor | None, *states: Tensor) -> tuple:
        """ids [m] not read yet and the target's states in front of them, [m, Ht] for each tap; u [k], seen [V] -> parts of the draft."""
        fused = self.head.fuse(dict(zip(self.head.taps, states)))
        return self.draft(cache, self.head.read(ids, fused, cache)[-1:], u, seen)

    def draft(self, cache: KVCache | Window, out: Tensor, u: Tensor | None, seen: Tensor | None) -> tuple:
        """out [1, H]: the head's last row -> parts of the draft."""
        raise NotImplementedError

    def likeliest(self, out: Tensor, n: int, seen: Tensor | None) -> tuple[Tensor, Tensor]:
        """Rows [F, H] -> log-probabilities and target ids of their n likeliest continuations, [F, n] each (fewer in a tiny vocabulary)."""
        raw, mapped = self.head.logits(out), self.head.token_map
        if mapped is None:
            raw = raw[:, :self.rules.vocab_size]
        elif seen is not None:
            seen = seen[mapped]
        best = probs.scores(raw, self.rules.sampling, seen).log_softmax(-1).topk(min(n, raw.shape[-1]))
        return best.values, best.indices if mapped is None else mapped[best.indices]

    def grow(self, cache: KVCache | Window, ids: Tensor, out: Tensor, rows: Tensor, sight: Tensor, depth: int) -> tuple[Tensor, Tensor]:
        """Feed nodes ids [F], children of out's `rows`; returns their rows and what each sees of all fed nodes, itself included."""
        itself = torch.eye(ids.shape[0], dtype=torch.bool, device=ids.device)
        sight = torch.cat([sight[rows], itself], 1)
        return self.head.branch(ids, self.head.feedback(out)[rows], cache, depth, sight), sight


@dataclass(frozen=True)
class HeadChain(Reading):
    """k tokens, each drawn from the head's law."""
    k: int

    def draft(self, cache: KVCache | Window, out: Tensor, u: Tensor | None, seen: Tensor | None) -> tuple:
        chain = Chain(self.rules, u, seen, self.head.token_map)
        token = chain.add(self.head.logits(out)[0])
        for _ in range(self.k - 1):
            out = self.head.read(token, self.head.feedback(out), cache)
            token = chain.add(self.head.logits(out)[0])
        return chain.parts()


@dataclass(frozen=True)
class FixedTree(Reading):
    """Every node is its parent's likeliest continuation but r."""
    tree: StaticTree

    def draft(self, cache: KVCache | Window, out: Tensor, u: Tensor | None, seen: Tensor | None) -> tuple:
        tree, device = self.tree, out.device
        tokens: list[Tensor] = []
        fed, sight = [-1], torch.zeros(1, 0, dtype=torch.bool, device=device)       # nodes that `out` has a row for; what they see
        for depth in range(1, tree.levels + 1):
            level = tree.level(depth)
            _, ids = self.likeliest(out, 1 + max(tree.ranks[i] for i in level), seen)
            rows = [fed.index(tree.parents[i]) for i in level]
            tokens.append(ids[constant(tuple(rows), device), constant(tuple(tree.ranks[i] for i in level), device)])
            inner = [j for j, i in enumerate(level) if i in tree.parents]
            if inner:
                fed = [level[j] for j in inner]
                above = constant(tuple(rows[j] for j in inner), device)
                out, sight = self.grow(cache, tokens[-1].index_select(0, constant(tuple(inner), device)), out, above, sight, depth - 1)
        return torch.cat(tokens), None, None, constant(tree.parents, device), tree.levels


@dataclass(frozen=True)
class LikeliestTree(Reading):
    """EAGLE-2 (Li et al. 2024): on each level the nodes likeliest by their whole path get children; then the likeliest `nodes` of
    all stay. A path's value never rises, so a node that stays has its ancestors beside it. The sizes are always the same."""
    levels: int
    nodes: int
    top_k: int

    def draft(self, cache: KVCache | Window, out: Tensor, u: Tensor | None, seen: Tensor | None) -> tuple:
        device = out.device
        values, ids = self.likeliest(out, self.top_k, seen)
        width = ids.shape[1]
        tokens, value, parents = [ids[0]], [values[0]], [torch.full((width,), -1, device=device)]
        front = torch.arange(width, device=device)              # nodes that get children, as indices of all nodes
        rows = torch.zeros_like(front)
        sight = torch.zeros(1, 0, dtype=torch.bool, device=device)
        total, feed, alive = width, ids[0], values[0]
        for depth in range(1, self.levels):
            out, sight = self.grow(cache, feed, out, rows, sight, depth - 1)
            values, ids = self.likeliest(out, width, seen)
            below = (alive[:, None] + values).flatten()
            tokens.append(ids.flatten())
            value.append(below)
            parents.append(front.repeat_interleave(width))
            alive, best = below.topk(width)
            rows, feed, front = best // width, tokens[-1][best], total + best
            total += below.shape[0]
        all_tokens, all_parents = torch.cat(tokens), torch.cat(parents)
        kept = torch.cat(value).sort(descending=True, stable=True).indices[:self.nodes].sort().values     # stable: parents before equals
        place = torch.full((total + 1,), -1, device=device)                                               # the last one: the root's
        place = place.index_copy(0, kept, torch.arange(kept.shape[0], device=device))
        return all_tokens[kept], None, None, place[all_parents[kept]], self.levels


class Eagle(Proposer):
    """A chain is drawn from the head's law (q), a tree's children are the head's likeliest tokens (q one-hot)."""

    name = "eagle"
    settings = (
        Setting("tree", str, "chain", "chain; auto: the likeliest tree each round (EAGLE-2); static: one sparse tree (EAGLE-1); or 3x2x1"),
        Setting("tree_tokens", int, 7, "nodes of a drafted tree", 1, 128),
        Setting("tree_depth", int, 4, "levels of a tree that is not given by its shape; --draft-len is a chain's", 1, DEEPEST),
        Setting("tree_top_k", int, 3, "children of a node, and nodes of a level that get children", 1, 32),
    )

    def __init__(self, head: EagleHead, tree: str = "chain", tree_tokens: int = 7, tree_depth: int = 4, tree_top_k: int = 3) -> None:
        """Raises UserError for a tree that is none."""
        self.head, self.taps, self.max_positions = head, head.taps, head.config.max_positions
        self.tree, self.nodes, self.top_k = tree, tree_tokens, tree_top_k
        self.static: StaticTree | None = None
        if tree == "static":
            self.static = StaticTree.best([PRIOR] * tree_depth, tree_tokens)
        elif tree not in ("chain", "auto"):
            self.static = StaticTree.full(parse_shape(tree))
        rows = head.config.vocab_size if head.token_map is None else head.token_map.shape[0]
        if self.static and max(self.static.ranks) >= rows:
            raise UserError(f"--tree {tree} asks for {1 + max(self.static.ranks)} candidates; this head knows {rows} tokens.", "shape_wide",
                            setting="tree", n=1 + max(self.static.ranks), most=rows)
        if tree != "chain":
            self.side_nodes = self.static.nodes if self.static else tree_tokens
            self.levels = self.static.levels if self.static else tree_depth
        self.cache: KVCache | None = None
        self.waiting: list[dict[int, Tensor]] = []      # states of tokens behind the cache's real rows

    @classmethod
    def build(cls, pair: Pair, **settings) -> Eagle:
        if not isinstance(pair.target, DecoderTarget):
            raise UserError("EAGLE heads read inner states of a Llama-family target (Llama, Mistral, Qwen2, Qwen3); take lookup or draft here.")
        target = pair.target.model

        def load(folder) -> EagleHead:
            head = EagleHead(eagle_format.read(folder, sniff(folder), target.config, target.device), target)
            if target.device.type == "cpu":
                head.pack()
            return head

        return cls(pair.head("eagle", load), **settings)

    def begin(self, ctx: Context) -> None:
        widest = max(len(self.static.level(d)) for d in range(1, self.static.levels + 1)) if self.static else self.top_k
        room = 0 if self.levels is None else widest * self.levels
        self.cache = ctx.new_cache(self.head, ctx.capacity + room)
        self.waiting = []

    def end(self) -> None:
        self.cache, self.waiting = None, []

    def observe(self, ctx: Context, path: list[int]) -> None:
        """ctx.states are of the last tokens of the target's cache: rows of the head from the first of them on are not real yet."""
        if not ctx.states:
            return
        first = ctx.cache.length - next(iter(ctx.states.values())).shape[0]
        if not self.waiting:
            self.cache.truncate(min(first, self.cache.length))
        self.waiting.append(ctx.states)

    def propose(self, ctx: Context, k: int) -> Draft | None:
        k = min(k, self.max_positions - len(ctx.tokens))
        if k <= 0 or not self.waiting:
            self.waiting = []
            return None
        states = self.waiting[0] if len(self.waiting) == 1 else {t: torch.cat([s[t] for s in self.waiting]) for t in self.taps}
        self.waiting = []
        ids = ctx.since(self.cache.length + 1)                                          # row i reads token i + 1
        u, cut = None, self.static.cut(k) if self.static else None
        if self.tree == "chain":
            region, adds = HeadChain(self.head, ctx.rules, k), k - 1
            u = None if ctx.sampling.greedy else ctx.uniforms(k)
        elif cut:
            region, adds = FixedTree(self.head, ctx.rules, cut), sum(i in cut.parents for i in range(cut.nodes))
        else:
            region, adds = LikeliestTree(self.head, ctx.rules, k, self.nodes, self.top_k), self.top_k * (k - 1)
        return Draft(*ctx.runner.run(region, self.cache, len(ids) + adds, ids, u, ctx.seen, *(states[t] for t in self.taps),
                                     capture=len(ids) <= 1 + DEEPEST))
