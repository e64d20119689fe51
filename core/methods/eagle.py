"""EAGLE-1, 2 and 3: a head that reads the target's hidden states drafts a chain, a static tree, or a dynamic tree of the likeliest paths.

After each round the head's cache holds only rows made from the target's own hidden states: drafted rows are dropped, and accepted tokens
are read again with the hidden states that verification computed for them.

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
from core.grammar.walk import Walk
from core.methods.base import Context, Draft, Proposer, SamplingContext
from core.methods.chain import Chain
from core.methods.eagle_head import EagleHead
from core.methods.settings import Setting
from core.methods.static_tree import TYPICAL_ACCURACY, StaticTree
from core.models.cache import GraphCacheView, KVCache
from core.models.host_copy import constant
from core.models.target import DecoderTarget
from core.sampling import probs, race
from core.sampling.tree import parse_shape

if TYPE_CHECKING:
    from core.checkpoints.load import Pair

DEEPEST = 16        # levels of a tree
MOST_NODES, DEEPEST_TREE = 8, 4         # of the trees that --draft-len auto considers


@dataclass(frozen=True)
class Reading:
    """What the three captured functions share: the head reads the new tokens with the target's hidden states, then drafts from its last row."""
    head: EagleHead
    sampling_ctx: SamplingContext

    def __call__(self, cache: KVCache | GraphCacheView, ids: Tensor, u: Tensor | None, seen: Tensor | None, *hidden_states: Tensor) -> tuple:
        """ids [m] uncached; for each aux layer hidden states [m, Ht] of the positions before them; u [k] uniforms of a chain, or
        noise [k, V] of a coupled run; seen [V] -> the fields of a Draft."""
        fused = self.head.fuse(dict(zip(self.head.aux_layers, hidden_states)))
        return self.draft(cache, self.head.read(ids, fused, cache)[-1:], u, seen)

    def draft(self, cache: KVCache | GraphCacheView, out: Tensor, u: Tensor | None, seen: Tensor | None) -> tuple:
        """out [1, H]: the head's last row -> the fields of a Draft."""
        raise NotImplementedError

    def likeliest(self, out: Tensor, n: int, seen: Tensor | None, noise: Tensor | None) -> tuple[Tensor, Tensor]:
        """out [F, H] -> log-probabilities and target ids of each row's n likeliest continuations, [F, n] (fewer in a tiny vocabulary).

        With the noise [V] of their position: the first n of the race, and the logarithms of their keys as shares of all keys.
        """
        raw, mapped = self.head.logits(out), self.head.token_map
        if mapped is None:
            raw = raw[:, :self.sampling_ctx.vocab_size]
        elif seen is not None:
            seen = seen[mapped]
        scored = probs.scores(raw, self.sampling_ctx.sampling, seen)
        if noise is not None:
            scored = race.keys(scored, self.sampling_ctx.sampling, race.of_rows(noise, raw.shape[1], mapped))
        best = scored.log_softmax(-1).topk(min(n, raw.shape[-1]))
        return best.values, best.indices if mapped is None else mapped[best.indices]

    def grow(self, cache: KVCache | GraphCacheView, ids: Tensor, out: Tensor, rows: Tensor, tree_mask: Tensor, depth: int) -> tuple[Tensor, Tensor]:
        """Feed one level: nodes with ids [F], children of the nodes at `rows` [F] of `out` and `tree_mask`. -> their own out [F, H] and
        tree mask [F, nodes fed so far + F]."""
        itself = torch.eye(ids.shape[0], dtype=torch.bool, device=ids.device)
        tree_mask = torch.cat([tree_mask[rows], itself], 1)
        return self.head.branch(ids, self.head.feedback(out)[rows], cache, depth, tree_mask), tree_mask


@dataclass(frozen=True)
class HeadChain(Reading):
    """A chain of k tokens, each drawn from the head's distribution. With a grammar it ends behind forced tokens: the head could read these only
    one by one, and without the target's hidden states."""
    k: int
    walk: Walk | None = None

    def draft(self, cache: KVCache | GraphCacheView, out: Tensor, u: Tensor | None, seen: Tensor | None) -> tuple:
        chain = Chain(self.sampling_ctx, u, seen, self.head.token_map, self.walk)
        token = chain.add(self.head.logits(out)[0])
        for _ in range(self.k - 1):
            if chain.over or token.shape[0] != 1:
                break
            out = self.head.read(token, self.head.feedback(out), cache)
            token = chain.add(self.head.logits(out)[0])
        return chain.parts()


@dataclass(frozen=True)
class FixedTree(Reading):
    """A static tree: the node of rank r is its parent's r-th likeliest continuation."""
    tree: StaticTree

    def draft(self, cache: KVCache | GraphCacheView, out: Tensor, u: Tensor | None, seen: Tensor | None) -> tuple:
        tree, device = self.tree, out.device
        tokens: list[Tensor] = []
        fed, tree_mask = [-1], torch.zeros(1, 0, dtype=torch.bool, device=device)       # the nodes that `out` has rows for; their tree mask
        for depth in range(1, tree.levels + 1):
            level = tree.level(depth)
            _, ids = self.likeliest(out, 1 + max(tree.ranks[i] for i in level), seen, None if u is None else u[depth - 1])
            rows = [fed.index(tree.parents[i]) for i in level]
            tokens.append(ids[constant(tuple(rows), device), constant(tuple(tree.ranks[i] for i in level), device)])
            inner = [j for j, i in enumerate(level) if i in tree.parents]
            if inner:
                fed = [level[j] for j in inner]
                above = constant(tuple(rows[j] for j in inner), device)
                out, tree_mask = self.grow(cache, tokens[-1].index_select(0, constant(tuple(inner), device)), out, above, tree_mask, depth - 1)
        return torch.cat(tokens), None, None, constant(tree.parents, device), tree.levels


@dataclass(frozen=True)
class LikeliestTree(Reading):
    """The dynamic tree of EAGLE-2 (Li et al. 2024): on each level, only the top_k nodes with the likeliest paths get children; at the end
    the `nodes` likeliest of all nodes stay. A child's path is never likelier than its parent's, so the ancestors of a node that stays
    do too. All sizes are fixed, so that it can be captured."""
    levels: int
    nodes: int
    top_k: int

    def draft(self, cache: KVCache | GraphCacheView, out: Tensor, u: Tensor | None, seen: Tensor | None) -> tuple:
        device = out.device
        values, ids = self.likeliest(out, self.top_k, seen, None if u is None else u[0])
        width = ids.shape[1]
        tokens, value, parents = [ids[0]], [values[0]], [torch.full((width,), -1, device=device)]       # value: log-probability of the path
        front = torch.arange(width, device=device)              # indices of the nodes that get children
        rows = torch.zeros_like(front)
        tree_mask = torch.zeros(1, 0, dtype=torch.bool, device=device)
        total, feed, front_value = width, ids[0], values[0]
        for depth in range(1, self.levels):
            out, tree_mask = self.grow(cache, feed, out, rows, tree_mask, depth - 1)
            values, ids = self.likeliest(out, width, seen, None if u is None else u[depth])
            below = (front_value[:, None] + values).flatten()
            tokens.append(ids.flatten())
            value.append(below)
            parents.append(front.repeat_interleave(width))
            front_value, best = below.topk(width)
            rows, feed, front = best // width, tokens[-1][best], total + best
            total += below.shape[0]
        all_tokens, all_parents = torch.cat(tokens), torch.cat(parents)
        best = torch.cat(value).sort(descending=True, stable=True).indices[:self.nodes].sort().values     # stable: parents before equal children
        place = torch.full((total + 1,), -1, device=device)           # index of each node among those that stay; [-1]: the root
        place = place.index_copy(0, best, torch.arange(best.shape[0], device=device))
        return all_tokens[best], None, None, place[all_parents[best]], self.levels


class Eagle(Proposer):
    """Li et al. 2024, 2025. A chain is drawn from the head's distribution, its q. A tree's nodes are the head's likeliest tokens: q one-hot."""

    name = "eagle"
    settings = (
        Setting("tree", str, "auto", "auto: a chain or a dynamic tree (EAGLE-2); chain; static: one sparse tree (EAGLE-1); or 3x2x1"),
        Setting("tree_tokens", int, 0, "nodes of a drafted tree; 0: as --draft-len auto finds best, a chain under another --draft-len", 0, 128),
        Setting("tree_depth", int, 4, "levels of a tree with --tree-tokens or --tree static; --draft-len sets the length of a chain", 1, DEEPEST),
        Setting("tree_top_k", int, 3, "children of a node, and nodes of a level that get children", 1, 32),
    )

    def __init__(self, head: EagleHead, tree: str = "chain", tree_tokens: int = 7, tree_depth: int = 4, tree_top_k: int = 3) -> None:
        """Raises UserError for a tree that cannot be read, or is wider than the head's vocabulary."""
        self.head, self.aux_layers, self.max_positions = head, head.aux_layers, head.config.max_positions
        self.adaptive = tree == "auto" and not tree_tokens
        self.tree, self.nodes, self.top_k = tree, tree_tokens or MOST_NODES, tree_top_k
        self.static: StaticTree | None = None
        if tree == "static":
            self.static = StaticTree.best([TYPICAL_ACCURACY] * tree_depth, self.nodes)
        elif tree not in ("chain", "auto"):
            self.static = StaticTree.full(parse_shape(tree))
        rows = head.config.vocab_size if head.token_map is None else head.token_map.shape[0]
        if self.static and max(self.static.ranks) >= rows:
            raise UserError(f"--tree {tree} asks for {1 + max(self.static.ranks)} candidates; this head knows {rows} tokens.", "shape_wide",
                            setting="tree", n=1 + max(self.static.ranks), most=rows)
        if tree != "chain":
            self.side_nodes = self.static.nodes if self.static else self.nodes
            self.levels = self.static.levels if self.static else None if self.adaptive else tree_depth
        self.cache: KVCache | None = None
        self.unread: list[dict[int, Tensor]] = []       # of each round since the last draft: hidden states by aux layer, not yet in the cache

    @classmethod
    def build(cls, pair: Pair, **settings) -> Eagle:
        if not isinstance(pair.target, DecoderTarget):
            raise UserError("EAGLE heads read hidden states of a Llama-family target (Llama, Mistral, Qwen2, Qwen3); take lookup or draft here.")
        target = pair.target.model

        def load(folder) -> EagleHead:
            head = EagleHead(eagle_format.read(folder, sniff(folder), target.config, target.device), target)
            if target.draft_kernel:
                head.pack(target.draft_kernel)
            return head

        return cls(pair.head("eagle", load), **settings)

    def begin(self, ctx: Context) -> None:
        widest = max(len(self.static.level(d)) for d in range(1, self.static.levels + 1)) if self.static else self.top_k
        room = widest * (self.levels or DEEPEST_TREE) if self.side_nodes else 0
        self.cache = ctx.new_cache(self.head, ctx.capacity + room)
        self.unread = []

    def end(self) -> None:
        self.cache, self.unread = None, []

    def observe(self, ctx: Context, path: list[int]) -> None:
        """Keep the hidden states of the round, and drop the head's cache rows of its tokens: they were made from drafted hidden states."""
        if not ctx.hidden_states:
            return
        first = ctx.cache.length - next(iter(ctx.hidden_states.values())).shape[0]
        if not self.unread:
            self.cache.truncate(min(first, self.cache.length))
        self.unread.append(ctx.hidden_states)

    def propose(self, ctx: Context, k: int) -> Draft | None:
        k = min(k, self.max_positions - len(ctx.tokens))
        if k <= 0 or not self.unread:
            self.unread = []
            return None
        hidden_states = self.unread[0]
        if len(self.unread) > 1:
            hidden_states = {layer: torch.cat([x[layer] for x in self.unread]) for layer in self.aux_layers}
        self.unread = []
        ids = ctx.uncached(self.cache.length + 1)                                          # row i of the head reads token i + 1
        u, walk, cut = ctx.noise(k), None, self.static.cut(k) if self.static else None
        nodes = ctx.nodes if self.adaptive else self.nodes
        if self.tree == "chain" or (self.adaptive and nodes <= k):
            walk = ctx.walk(ctx.left)
            function, adds = HeadChain(self.head, ctx.sampling_ctx, k, walk), k - 1
            u = ctx.randomness(k, k)
        elif cut:
            function, adds = FixedTree(self.head, ctx.sampling_ctx, cut), sum(i in cut.parents for i in range(cut.nodes))
        else:
            function, adds = LikeliestTree(self.head, ctx.sampling_ctx, k, nodes, self.top_k), self.top_k * (k - 1)
        return Draft(*ctx.runner.run(function, self.cache, len(ids) + adds, ids, u, ctx.seen, *(hidden_states[layer] for layer in self.aux_layers),
                                     capture=walk is None and len(ids) <= 1 + DEEPEST))
