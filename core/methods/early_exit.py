"""Self-speculation: the target drafts for itself with some of its layers left out, and keeps what the draft has already computed.

The draft writes keys and values into the target's own cache behind the verified tokens. What it computed before the first skipped
layer is exactly what verification needs there, so verification runs the remaining layers only (Elhoushi et al. 2024, LayerSkip, for
exits; Zhang et al. 2024, Draft & Verify, for any set of skipped layers).

Drawn by assets/js/watch/cards.js, what `specscope tune` measured of its layers by assets/js/methods/tune.js.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from core.errors import UserError
from core.methods.base import Context, Draft, Proposer, Rules, TargetPass
from core.methods.chain import Chain
from core.methods.settings import Setting
from core.models.cache import KVCache, Window
from core.models.decoder import Decoder, PassShape
from core.models.target import DecoderTarget, Target

if TYPE_CHECKING:
    from core.checkpoints.load import Pair


@dataclass(frozen=True)
class ExitChain:
    """A region: k steps of the target's `lower` layers, then `rest`; its cache is left as long as it was."""
    model: Decoder
    lower: range
    rest: tuple[int, ...]
    rules: Rules
    k: int
    confidence: float = 0.0

    def __call__(self, cache: KVCache | Window, feed: Tensor, u: Tensor | None, seen: Tensor | None) -> tuple:
        """feed [1] the last emitted id, u [k], seen [V] -> parts of the draft; its `kept`: states behind `lower` of all it fed, [1, n, H]."""
        start, chain, states = cache.length, Chain(self.rules, u, seen), []
        try:
            for i in range(self.k):
                state, _ = self.model.run(feed[None], cache, layers=self.lower, advance=False)
                hidden, _ = self.model.run(feed[None], cache, hidden=state, layers=self.rest, advance=False)
                cache.length += 1
                states.append(state)
                feed = chain.add(self.model.logits(hidden[0, -1]))
                if self.confidence and i + 1 < self.k and float(chain.laws[-1].index_select(0, feed)) < self.confidence:
                    break
        finally:
            cache.length = start
        return *chain.parts(), None, 0, torch.cat(states, 1)


@dataclass(frozen=True)
class UpperPass(TargetPass):
    """The target's pass where its draft has run the `lower` layers over all tokens but the last."""
    lower: range = range(0)
    upper: range = range(0)

    def __call__(self, cache: KVCache | Window, ids: Tensor, last: int, shape: PassShape | None = None,
                 kept: Tensor | None = None) -> tuple[Tensor, dict[int, Tensor]]:
        if kept is None:
            return super().__call__(cache, ids, last, shape)
        model, start = self.target.model, cache.length
        cache.length = start + kept.shape[1]
        try:                                                                # the last drafted token has not run at all yet
            state, _ = model.run(ids[None, -1:], cache, layers=self.lower, advance=False)
        finally:
            cache.length = start
        hidden, _ = model.run(ids[None], cache, hidden=torch.cat([kept, state], 1), layers=self.upper)
        return model.logits(hidden[0])[:, :self.target.vocab_size], {}


class EarlyExit(Proposer):
    name = "early-exit"
    settings = (
        Setting("exit_layer", str, "0.7", "layers the draft runs, as a number or a fraction of all"),
        Setting("skip_layers", str, "", "instead of an exit: layers the draft leaves out, like 8-20,24"),
        Setting("confidence", float, 0.0, "stop drafting behind a token whose probability is below this; waits for the device at each token", 0, 1),
    )

    def __init__(self, target: DecoderTarget, exit_layer: str = "0.7", skip_layers: str = "", confidence: float = 0.0) -> None:
        """Raises UserError for layers the target does not have, or a draft that would be the whole target."""
        self.model = target.model
        total = self.model.config.num_layers
        kept = kept_layers(total, exit_layer, skip_layers)
        self.shared = next(i for i in range(total) if i >= len(kept) or kept[i] != i)      # layers before the first skipped one
        self.lower, self.rest, self.upper = range(self.shared), tuple(kept[self.shared:]), range(self.shared, total)
        self.confidence = confidence
        self.direct = "--confidence looks at every token" if confidence else None

    @classmethod
    def build(cls, pair: Pair, **settings) -> EarlyExit:
        if not isinstance(pair.target, DecoderTarget):
            raise UserError("early-exit needs the layers of a Llama-family target (Llama, Mistral, Qwen2, Qwen3); take lookup or draft here.")
        return cls(pair.target, **settings)

    def propose(self, ctx: Context, k: int) -> Draft | None:
        u = None if ctx.sampling.greedy else ctx.uniforms(k)
        chain = ExitChain(self.model, self.lower, self.rest, ctx.rules, k, self.confidence)
        return Draft(*ctx.runner.run(chain, ctx.cache, k, ctx.since(ctx.cache.length), u, ctx.seen, capture=self.direct is None))

    def target_pass(self, target: Target) -> TargetPass:
        return UpperPass(target, self.taps, self.lower, self.upper)


def kept_layers(total: int, exit_layer: str, skip_layers: str) -> list[int]:
    """The layers a draft runs, in order. Raises UserError."""
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
