"""Self-speculation: the target drafts for itself with some of its layers left out, and verification reuses what the draft has computed.

The draft writes keys and values into the target's own cache after the verified tokens. What it computed before the first skipped layer
is what the target's pass would compute there, so verification runs the remaining layers only (LayerSkip, Elhoushi et al. 2024, for
early exits; Draft & Verify, Zhang et al. 2024, for any set of skipped layers).

Drawn by assets/js/watch/cards.js, what `specscope tune` measured of its layers by assets/js/methods/tune.js.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from core.errors import UserError
from core.grammar.walk import Walk
from core.methods.base import Context, Draft, Proposer, SamplingContext, TargetPass
from core.methods.chain import Chain
from core.methods.settings import Setting
from core.models.cache import GraphCacheView, KVCache
from core.models.decoder import Decoder, PassShape
from core.models.target import DecoderTarget, Target

if TYPE_CHECKING:
    from core.checkpoints.load import Pair


@dataclass(frozen=True)
class ExitChain:
    """A captured function: k draft steps of the target's `lower` layers, then its `rest` layers. The cache's length does not change."""
    model: Decoder
    lower: range
    rest: tuple[int, ...]
    sampling_ctx: SamplingContext
    k: int
    confidence: float = 0.0
    walk: Walk | None = None

    def __call__(self, cache: KVCache | GraphCacheView, feed: Tensor, u: Tensor | None, seen: Tensor | None) -> tuple:
        """feed [1] the last emitted id (and forced ones behind it), u [k], seen [V] -> the fields of a Draft; `reused` [1, n, H]: outputs of
        `lower` for the n ids fed."""
        start, chain, reused = cache.length, Chain(self.sampling_ctx, u, seen, walk=self.walk), []
        try:
            for i in range(self.k):
                early, _ = self.model.run(feed[None], cache, layers=self.lower, advance=False)
                hidden, _ = self.model.run(feed[None], cache, hidden=early, layers=self.rest, advance=False)
                cache.length += feed.shape[0]
                reused.append(early)
                feed = chain.add(self.model.logits(hidden[0, -1]))
                if chain.over or (self.confidence and i + 1 < self.k and float(chain.dists[-1].index_select(0, feed[:1])) < self.confidence):
                    break
        finally:
            cache.length = start
        return *chain.parts(), None, 0, torch.cat(reused, 1)


@dataclass(frozen=True)
class UpperPass(TargetPass):
    """The target's pass after a draft that has run the `lower` layers over all tokens but the last drafted one."""
    lower: range = range(0)
    upper: range = range(0)

    def __call__(self, cache: KVCache | GraphCacheView, ids: Tensor, last: int, shape: PassShape | None = None,
                 reused: Tensor | None = None) -> tuple[Tensor, dict[int, Tensor]]:
        if reused is None:
            return super().__call__(cache, ids, last, shape)
        model, start = self.target.model, cache.length
        cache.length = start + reused.shape[1]
        try:                        # the draft did not feed its last token, nor the forced ones behind it
            early, _ = model.run(ids[None, reused.shape[1]:], cache, layers=self.lower, advance=False)
        finally:
            cache.length = start
        hidden, _ = model.run(ids[None], cache, hidden=torch.cat([reused, early], 1), layers=self.upper)
        return model.logits(hidden[0])[:, :self.target.vocab_size], {}


class EarlyExit(Proposer):
    """Drafts a chain with the target's first layers (an early exit), or with all but the skipped ones."""

    name = "early-exit"
    settings = (
        Setting("exit_layer", str, "0.7", "layers that the draft runs: a number, or a fraction of all"),
        Setting("skip_layers", str, "", "instead of --exit-layer: layers that the draft leaves out, like 8-20,24"),
        Setting("confidence", float, 0.0, "end the draft after a token whose probability is below this; waits for the device at each token", 0, 1),
    )

    def __init__(self, target: DecoderTarget, exit_layer: str = "0.7", skip_layers: str = "", confidence: float = 0.0) -> None:
        """Raises UserError for layers the target does not have, or a draft that would be the whole target."""
        self.model = target.model
        total = self.model.config.num_layers
        layers = draft_layers(total, exit_layer, skip_layers)
        self.shared = next(i for i in range(total) if i >= len(layers) or layers[i] != i)      # number of layers before the first skipped one
        self.lower, self.rest, self.upper = range(self.shared), tuple(layers[self.shared:]), range(self.shared, total)
        self.confidence = confidence
        self.direct = "--confidence looks at every token" if confidence else None

    @classmethod
    def build(cls, pair: Pair, **settings) -> EarlyExit:
        if not isinstance(pair.target, DecoderTarget):
            raise UserError("early-exit needs the layers of a Llama-family target (Llama, Mistral, Qwen2, Qwen3); take lookup or draft here.")
        return cls(pair.target, **settings)

    def propose(self, ctx: Context, k: int) -> Draft | None:
        u = ctx.randomness(k, k)
        walk = ctx.walk(ctx.left)
        chain = ExitChain(self.model, self.lower, self.rest, ctx.sampling_ctx, k, self.confidence, walk)
        capture = self.direct is None and walk is None
        return Draft(*ctx.runner.run(chain, ctx.cache, k, ctx.uncached(ctx.cache.length), u, ctx.seen, capture=capture))

    def target_pass(self, target: Target) -> TargetPass:
        return UpperPass(target, self.aux_layers, self.lower, self.upper)


def draft_layers(total: int, exit_layer: str, skip_layers: str) -> list[int]:
    """The layers that the draft runs, in order, of a target with `total` layers. Raises UserError for layers that it does not have."""
    if skip_layers:
        if exit_layer != EarlyExit.settings[0].default:
            raise UserError("Give --exit-layer or --skip-layers, not both: each says which layers the draft runs.", "not_both",
                            setting="exit_layer", other="skip_layers")
        skipped = set()
        for part in skip_layers.split(","):
            low, dash, high = part.strip().partition("-")
            if not low.isdecimal() or (dash and not high.isdecimal()) or len(part) > 20:
                raise UserError(f"--skip-layers wants layers like 8-20,24, not {skip_layers[:40]!r}.", "layers", setting="skip_layers",
                                given=skip_layers[:40])
            if int(high or low) < int(low):
                raise UserError(f"--skip-layers counts upwards: {high}-{low}, not {part.strip()}.", "layers_order", setting="skip_layers",
                                low=high, high=low)
            skipped |= set(range(int(low), min(int(high or low), total) + 1))
        if not skipped or max(skipped) >= total:
            raise UserError(f"--skip-layers {skip_layers} names layers this target does not have (0 to {total - 1}).", "layers_missing",
                            setting="skip_layers", last=total - 1)
        if len(skipped) == total:
            raise UserError("--skip-layers leaves the draft no layer at all.", "layers_none", setting="skip_layers")
        return [i for i in range(total) if i not in skipped]
    try:
        number = float(exit_layer)
    except ValueError:
        number = -1.0
    layers = int(number) if number.is_integer() else round(number * total) if 0 < number < 1 else 0
    if not 1 <= layers < total:
        raise UserError(f"--exit-layer wants 1 to {total - 1} layers or a fraction between 0 and 1, not {exit_layer}.", "layer_count",
                        setting="exit_layer", most=total - 1, given=exit_layer[:40])
    return list(range(layers))
