"""Any other causal LM of transformers (GPT-2, OPT, GPT-NeoX, Gemma, Phi-3, ...), for the methods that need no hidden states of the target.

The cache keeps the keys and values of every layer to their full length, also of layers that attend through a sliding window:
transformers masks what lies outside the window, so that rolling back stays exact past it. A model that keeps a state of any other
kind (Mamba, RWKV, linear attention, hybrids of them) is refused by name: such a state cannot forget its last tokens.
"""
from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Sequence
from importlib import util
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from core.checkpoints import memory, quantize, tensor_files, weights
from core.checkpoints.hf_limits import INSTEAD, first_position, longest, refuse_state
from core.errors import EnvironmentFailure, UserError
from core.models.config_values import end_ids
from core.models.decoder import PassShape
from core.models.target import ModelTarget, passes

TOLERANCE = {torch.float64: 1e-4, torch.float32: 1e-3, torch.bfloat16: 0.1, torch.float16: 0.05}     # of the largest logit


class HFCache:
    """A DynamicCache without sliding layers: `length` entries in every layer, cut by slicing."""

    def __init__(self, capacity: int) -> None:
        from transformers import DynamicCache
        self.capacity = capacity            # what the run may reach; nothing is allocated for it
        self.inner = DynamicCache()         # given no config it makes full layers for all

    @property
    def length(self) -> int:
        return self.inner.get_seq_length()

    @property
    def nbytes(self) -> int:
        return sum(layer.keys.nbytes + layer.values.nbytes for layer in self.inner.layers if layer.is_initialized)

    def truncate(self, length: int) -> None:
        """Forget every entry from `length` on."""
        if not 0 <= length <= self.length:
            raise IndexError(f"cannot cut a cache of {self.length} entries to {length}")
        for layer in self.inner.layers:     # not crop(): its argument changed its meaning between versions of transformers
            if layer.is_initialized:
                layer.keys, layer.values = layer.keys[..., :length, :], layer.values[..., :length, :]


class HFModel:
    """The part of Decoder's interface that targets and draft models need: `run` returns logits at once, `logits` passes them on."""

    def __init__(self, model: Any, name: str, device: torch.device | None = None, notes: dict[str, Any] | None = None) -> None:
        """device: where the token ids go, of a model spread over several devices (None: the model's own). notes: for the trace's `run`.

        Raises UserError for a model whose cache cannot be rolled back, or whose longest context is not known.
        """
        self.model, self.name, self._device, self.notes = model.eval(), name, device, notes or {}
        config = model.config.get_text_config(decoder=True)
        refuse_state(config, getattr(model, "_is_stateful", False))
        generation = getattr(model, "generation_config", None)      # transformers' choice of generation_config.json or a part of config.json
        head = model.get_output_embeddings()
        self.first = first_position(model)
        self.config = SimpleNamespace(
            vocab_size=head.weight.shape[0] if head is not None else config.vocab_size,
            max_positions=longest(config, self.first),
            eos_ids=end_ids(getattr(generation, "eos_token_id", None), name))
        known = inspect.signature(model.forward).parameters
        self.cache_name = "cache" if "cache" in known else "past_key_values"        # renamed in transformers 5
        self.takes_last, self.takes_positions = "logits_to_keep" in known, "position_ids" in known
        self.refuse_broken_rollback()

    @property
    def device(self) -> torch.device:
        return self._device or self.model.device

    @property
    def dtype(self) -> torch.dtype:
        return self.model.dtype

    def new_cache(self, capacity: int) -> HFCache:
        return HFCache(capacity)

    def run(self, ids: Tensor, cache: HFCache, shape: PassShape | None = None, last: int = 0) -> tuple[Tensor, dict[int, Tensor]]:
        """ids [1, K] -> logits [1, K, V] (of the last positions alone if `last`); appends K entries to the cache."""
        if shape is not None:
            raise UserError(f"{self.name} runs through transformers, which drafts and verifies chains only: leave --tree out.")
        start, keep = cache.length, {"logits_to_keep": last} if self.takes_last and last else {}
        positions = torch.arange(start, start + ids.shape[1], device=ids.device)[None] + self.first
        extra = {"position_ids": positions} if self.takes_positions else {}
        out = self.model(input_ids=ids, use_cache=True, **{self.cache_name: cache.inner}, **keep, **extra)
        return out.logits[:, -last:] if last else out.logits, {}

    def logits(self, hidden: Tensor) -> Tensor:
        """What `run` returned, which are logits already."""
        return hidden

    @torch.inference_mode()
    def refuse_broken_rollback(self) -> None:
        """Try it once: three tokens, two of them taken back and others fed, must give what a fresh pass gives. Raises UserError."""
        a, b, c, d = (torch.tensor([[i % self.config.vocab_size]], device=self.device) for i in (11, 12, 13, 14))
        cache, fresh = self.new_cache(8), self.new_cache(8)
        try:
            want = self.run(torch.cat([a, d, b], 1), fresh)[0][0, -1]
            self.run(torch.cat([a, b, c], 1), cache)
            if cache.length == 3:
                cache.truncate(1)
                got = self.run(torch.cat([d, b], 1), cache)[0][0, -1]
                close = (got - want).abs().max() <= TOLERANCE.get(self.dtype, 0.1) * want.abs().max().clamp_min(1)
                if bool(close) or not bool(want.isfinite().all()):
                    return
        except Exception as error:      # of any kind: a dtype without a kernel, a context of two tokens, a language that must be set first
            if memory.is_out(error):
                raise
            raise UserError(f"{self.name}: transformers fails to run it in {str(self.dtype).removeprefix('torch.')} on {self.device} "
                            f"({type(error).__name__}: {_first_line(error)[:-1]}).") from None
        raise UserError(f"{self.name}: its cache cannot be rolled back (tried on three tokens), which every method here relies on, plain "
                        f"decoding included. {INSTEAD}")


class HFTarget(ModelTarget):
    """A target behind transformers: for plain, draft, lookup and suffix."""

    def verify(self, ids: Tensor, cache: HFCache, last: int, shape: PassShape | None = None,
               aux_layers: Sequence[int] = ()) -> tuple[Tensor, dict[int, Tensor]]:
        """As DecoderTarget.verify. Raises UserError for aux layers and trees."""
        if aux_layers:
            raise UserError(f"{self.model.name} runs through transformers, which gives no hidden states of its layers: take lookup, suffix or draft.")
        *first, rest = passes(ids, last)
        for piece in first:
            self.model.run(piece[None], cache, last=1)
        return self.model.run(rest[None], cache, shape, last)[0][0, :, :self.vocab_size], {}


def can_spread() -> bool:
    """Whether a model larger than its GPU can be placed over several and main memory."""
    return util.find_spec("accelerate") is not None


def load(folder: Path, dtype: torch.dtype, device: torch.device, quantize_to: str | None = None) -> HFModel:
    """A checkpoint folder -> HFModel. Raises UserError naming the tensor that is missing, unexpected or misshapen.

    A model that its GPU has no room for is spread by accelerate over all GPUs and main memory, or refused with what would fit.
    """
    try:
        from transformers import AutoConfig, AutoModelForCausalLM
    except ImportError:
        raise EnvironmentFailure("This model needs transformers: pip install transformers, or take a Llama-family model.") from None
    kind = weights.read_config(folder).get("model_type")
    files = tensor_files.weight_files(folder)
    try:
        config = AutoConfig.from_pretrained(str(folder), local_files_only=True, trust_remote_code=False)       # None would ask the user
        with torch.device("meta"):
            empty = AutoModelForCausalLM.from_config(config, trust_remote_code=False)
    except Exception as error:      # whatever transformers and its validators make of a strange config, one sentence says so
        raise UserError(f"transformers cannot build a causal LM from {folder} (model type {kind!r}): {_first_line(error)}") from None
    refuse_state(config.get_text_config(decoder=True), getattr(empty, "_is_stateful", False))
    want = {name: t.shape for name, t in empty.state_dict().items()}
    for name, stored in tensor_files.headers([f for f in files if f.suffix == ".safetensors"]).items():
        if want.get(name, stored.shape) != stored.shape:        # names that transformers converts while loading are compared there
            raise UserError(f"{folder}: tensor {name!r} has shape {tuple(stored.shape)}, transformers' model of this config {tuple(want[name])}.")
    spread, place = False, {}
    try:
        memory.need(folder.name, memory.sizes({n: p.shape for n, p in empty.named_parameters()}, dtype), dtype, device, quantize_to)
    except memory.TooLarge as error:
        if quantize_to or not can_spread():
            raise memory.TooLarge(f"{str(error)[:-1]}; with accelerate installed it could be spread over more GPUs and main memory.") from None
        spread, place = True, {"device_map": "auto"}
    try:
        model, info = AutoModelForCausalLM.from_pretrained(str(folder), dtype=dtype, local_files_only=True, trust_remote_code=False,
                                                           output_loading_info=True, **place)
    except Exception as error:
        if memory.is_out(error):
            raise
        raise UserError(f"{folder} cannot be loaded by transformers: {_first_line(error)}") from None
    for what, is_ in (("missing_keys", "is missing"), ("unexpected_keys", "is unexpected"), ("mismatched_keys", "has another shape")):
        names = sorted(map(str, info.get(what) or ()))
        if names:
            raise UserError(f"{folder}: tensor {names[0]!r} {is_}.")
    if spread:
        placed = getattr(model, "hf_device_map", None)      # absent where one device took all of it after all
        where = placed.values() if placed else [model.device]
        return HFModel(model, folder.name, device if placed else None, {"placement": dict(Counter(map(str, where)))})
    if quantize_to:
        return HFModel(model, folder.name, None, {"quantize": quantize.apply(model, quantize_to, device, dtype, model.get_output_embeddings())})
    return HFModel(model.to(device), folder.name)


def _first_line(error: Exception) -> str:
    return (" ".join(str(error).split())[:160] or type(error).__name__) + "."
