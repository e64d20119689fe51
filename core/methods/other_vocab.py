"""A draft model with another tokenizer: it reads the same text in its own tokens and proposes those that both vocabularies have.

Drawn by assets/js/watch/cards.js, its p and q at each position by assets/js/distributions/bars.js.
"""
from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from core.errors import UserError
from core.methods.base import Context, Draft, Proposer, SamplingContext
from core.methods.chain import Chain
from core.methods.draft_model import not_ours
from core.models.cache import GraphCacheView, KVCache
from core.models.decoder import Decoder
from core.models.host_copy import to_device
from core.models.text import INCOMPLETE, NoText, Text

LEAST = 0.2         # of the smaller vocabulary: with less in common the renormalised distribution says little about the text
ROOM = 4            # draft positions held for each target position: its tokens may be shorter
FEW = 8             # tokens that one round's text usually has for the draft: longer ones run directly


@dataclass(frozen=True)
class SharedChain:
    """A captured function: k steps of the draft, each drawn from its distribution over the shared tokens.

    rows, ids [shared]: draft and target ids of the shared tokens.
    """
    model: Decoder
    rows: Tensor
    ids: Tensor
    sampling_ctx: SamplingContext
    k: int

    def __call__(self, cache: KVCache | GraphCacheView, feed: Tensor, u: Tensor | None, seen: Tensor | None) -> tuple:
        """feed [m] draft ids not read yet, u [k], seen [V] -> parts of the draft."""
        chain = Chain(self.sampling_ctx, u, seen, self.ids)
        for _ in range(self.k):
            hidden, _ = self.model.run(feed[None], cache)
            token = chain.add(self.model.logits(hidden[:, -1])[0].index_select(0, self.rows))
            feed = self.to_draft(token)
        return chain.parts()

    def to_draft(self, tokens: Tensor) -> Tensor:
        return self.rows[torch.searchsorted(self.ids, tokens)]


class OtherVocab(Proposer):
    """q is the draft's distribution over the shared tokens, renormalised: exactly what is drawn from, so nothing of the target's distribution is lost
    (Timor et al. 2025, token-level intersection).

    The draft keeps its own tokens of the text so far. Each round the text is encoded anew, and what differs from the first token
    on that is not as before is fed again: a boundary may merge characters that were drafted apart.
    """

    name = "draft"

    def __init__(self, model: Decoder, draft: Text | NoText, target: Text | NoText, vocab_size: int, name: str) -> None:
        """Raises UserError if the two vocabularies have too little in common."""
        self.model, self.draft, self.target = model, draft, target
        self.direct = not_ours(model)
        pairs = shared(draft, target, model.config.vocab_size, vocab_size, name)
        self.rows, self.ids = (torch.tensor(x, device=model.device) for x in zip(*pairs))
        known = {draft.piece(t) for t in draft.added}
        self.unknown = {t for t in target.special if target.piece(t) not in known}      # special tokens that the draft has never heard of

    def begin(self, ctx: Context) -> None:
        self.room = min(self.model.config.max_positions, ROOM * ctx.capacity)
        self.cache = ctx.new_cache(self.model, self.room)
        self.fed: list[int] = []                # draft tokens of the text that the cache holds

    def end(self) -> None:
        self.cache = None

    def propose(self, ctx: Context, k: int) -> Draft | None:
        tokens = self.read(ctx.tokens)
        k = min(k, self.room - len(tokens) + 1)
        if not tokens or k <= 0:
            return None
        same = next((i for i, (a, b) in enumerate(zip(self.fed, tokens)) if a != b), min(len(self.fed), len(tokens)))
        self.cache.truncate(min(self.cache.length, same, len(tokens) - 1))
        feed = to_device(tokens[self.cache.length:], ctx.device)
        self.fed = tokens
        u = ctx.randomness(k, k)
        chain = SharedChain(self.model, self.rows, self.ids, ctx.sampling_ctx, k)
        out = ctx.runner.run(chain, self.cache, len(feed) + k - 1, feed, u, ctx.seen, capture=self.direct is None and len(feed) <= FEW)
        self.cache.truncate(len(tokens))        # what was drafted comes back, if it was kept, with the text
        return Draft(*out)

    def read(self, tokens: list[int]) -> list[int]:
        """Target tokens -> the draft's tokens of the same text; [] while it ends inside a character."""
        text = self.target.decode([t for t in tokens if t not in self.unknown], special=True)
        if text.endswith(INCOMPLETE):
            return []
        ids = self.draft.encode(text)
        return ids[1:] if len(ids) > 1 and ids[0] == ids[1] and ids[0] in self.draft.added else ids     # the text brought its own BOS


def shared(draft: Text | NoText, target: Text | NoText, draft_size: int, vocab_size: int, name: str) -> list[tuple[int, int]]:
    """(draft id, target id) of every token whose text both have, by target id, no id twice. Raises UserError."""
    if draft.size is None or target.size is None:
        raise UserError(f"--vocab intersect compares tokens by their text: {'the draft ' + name if draft.size is None else 'the target'} "
                        "has no tokenizer.")
    by_piece: dict[tuple[str, bool], int] = {}
    for d in range(min(draft.size, draft_size)):
        if draft.name(d) is not None:
            by_piece.setdefault((draft.piece(d), d in draft.special), d)
    pairs, used = [], set()
    for t in range(min(target.size, vocab_size)):
        d = by_piece.get((target.piece(t), t in target.special))
        if d is not None and d not in used and target.name(t) is not None:
            pairs.append((d, t))
            used.add(d)
    smaller = min(draft.size, target.size)
    if len(pairs) < LEAST * smaller:
        raise UserError(f"The draft {name} shares {len(pairs)} of {smaller} tokens with the target ({len(pairs) / smaller:.0%}); --vocab intersect "
                        f"needs {LEAST:.0%}: take a draft of the target's own family, or --method lookup.")
    return pairs
