"""A small model of the target's vocabulary (or a part of it) drafts a chain, one token a step, all on the device.

Drawn by assets/js/watch/cards.js, its p and q at each position by assets/js/distributions/bars.js.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch import Tensor

from core.errors import UserError
from core.methods.base import Context, Draft, Proposer, Rules
from core.methods.chain import Chain
from core.methods.settings import Setting
from core.models.cache import KVCache, Window
from core.models.decoder import Decoder
from core.sampling.tree import parse_shape

if TYPE_CHECKING:
    from core.checkpoints.load import Pair


FEW = 2             # tokens a round may have to read: more is a prompt, whose pass fits no other


@dataclass(frozen=True)
class DraftChain:
    """A region: k steps of the draft model."""
    model: Decoder
    token_map: Tensor | None
    rules: Rules
    k: int

    def __call__(self, cache: KVCache | Window, feed: Tensor, u: Tensor | None, seen: Tensor | None) -> tuple:
        """feed [m] ids not read yet, u [k], seen [V] -> parts of the draft."""
        chain = Chain(self.rules, u, seen, self.token_map)
        feed = feed.clamp_max(self.model.config.vocab_size - 1)
        for _ in range(self.k):
            hidden, _ = self.model.run(feed[None], cache)
            feed = chain.add(self.model.logits(hidden[:, -1])[0])
        return chain.parts()


def not_ours(model: object) -> str | None:
    """Why a draft on this model cannot be captured."""
    return None if isinstance(model, Decoder) else "the draft runs through transformers"


class DraftModel(Proposer):
    """Leviathan et al. 2023: q is the draft's own law under the run's sampling options, the tokens are drawn from it.

    token_map [rows of the head] gives the target id of each output row when the head is reduced; ids without a row have q = 0.
    Ids of the target behind the end of the draft's vocabulary are read as its last id: the draft may then err, the output cannot.
    """

    name = "draft"
    settings = (
        Setting("tree", str, "chain", "chain, or candidates per depth such as 3x2x1, where the method drafts trees"),
        Setting("vocab", str, "strict", "intersect: a draft with another tokenizer uses the tokens both have", choices=("strict", "intersect")),
    )

    def __init__(self, model: Decoder, token_map: Tensor | None = None) -> None:
        self.model = model
        self.token_map = token_map
        self.max_positions = model.config.max_positions
        self.direct = not_ours(model)
        self.cache: KVCache | None = None

    @classmethod
    def build(cls, pair: Pair, tree: str = "chain", vocab: str = "strict") -> Proposer:
        """Raises UserError for a draft that does not fit, or a tree where only chains can run."""
        if tree == "auto":
            raise UserError("--tree auto has no meaning for --method draft: give the candidates per depth, such as 3x2x1.", "shape_auto",
                            setting="tree")
        shape = None if tree == "chain" else parse_shape(tree)
        if vocab == "intersect" and pair.other_text():
            from core.methods.other_vocab import OtherVocab
            if shape:
                raise UserError("--vocab intersect drafts chains only: leave --tree out.", "shape_chain", setting="tree")
            model, _ = pair.draft_of_any_text()         # all its rows: only a draft trained here has fewer, and that speaks the target's text
            return OtherVocab(model, pair.draft_text(), pair.text, pair.target.vocab_size, pair.draft_name("draft"))
        model, token_map = pair.draft_model()
        if shape is None:
            return cls(model, token_map)
        from core.methods.draft_tree import DraftTree
        for who, part in (("target", pair.target.model), ("draft", model)):
            if not isinstance(part, Decoder):
                raise UserError(f"The {who} runs through transformers, which drafts and verifies chains only: leave --tree out.", "shape_chain",
                                setting="tree")
        return DraftTree(model, token_map, shape)

    def begin(self, ctx: Context) -> None:
        self.room = min(ctx.capacity, self.max_positions)
        self.cache = ctx.new_cache(self.model, self.room)

    def end(self) -> None:
        self.cache = None

    def propose(self, ctx: Context, k: int) -> Draft | None:
        k = min(k, self.room - len(ctx.tokens) + 1)               # token k is never fed, so k - 1 more positions are needed
        if k <= 0:
            return None
        # everything not yet cached: after a fully accepted draft that is two tokens, since the last one was never fed
        feed = ctx.since(self.cache.length)
        u = None if ctx.sampling.greedy else ctx.uniforms(k)
        chain = DraftChain(self.model, self.token_map, ctx.rules, k)
        return Draft(*ctx.runner.run(chain, self.cache, len(feed) + k - 1, feed, u, ctx.seen, capture=self.direct is None and len(feed) <= FEW))

    def observe(self, ctx: Context, path: list[int]) -> None:
        self.cache.truncate(min(self.cache.length, len(ctx.tokens) - 1))
