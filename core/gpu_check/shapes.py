"""Targets and drafts of published shapes with random weights, made on the device. The values of weights do not influence costs."""
from __future__ import annotations

import copy
import math
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from core.checkpoints import weights
from core.checkpoints.formats.eagle import EagleTensors, read_aux_layers
from core.checkpoints.formats.medusa import MedusaTensors
from core.checkpoints.load import Pair
from core.methods.eagle_head import EagleHead
from core.methods.medusa import MedusaHeads
from core.models.config import DecoderConfig
from core.models.decoder import Decoder
from core.models.linear import Linear
from core.models.target import DecoderTarget
from core.models.text import NoText

MEDUSA_HEADS = 3
EAGLE_ROWS = 32000          # rows of the output head of published EAGLE-3 heads


def _scaling(factor: float) -> dict[str, object]:
    return {"rope_type": "llama3", "factor": factor, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}


LLAMA_8B = DecoderConfig(128256, 4096, 14336, 32, 32, 8, 128, rope_theta=5e5, rope_scaling=_scaling(8.0), max_positions=131072)
LLAMA_1B = DecoderConfig(128256, 2048, 8192, 16, 32, 8, 64, rope_theta=5e5, rope_scaling=_scaling(32.0), max_positions=131072, tied_head=True)
SMOLLM2_135M = DecoderConfig(49152, 576, 1536, 30, 9, 3, 64, rope_theta=1e5, max_positions=8192, tied_head=True)


@dataclass(frozen=True)
class Shape:
    """A target's size and that of its draft model."""
    name: str
    target: DecoderConfig
    draft_name: str
    draft: DecoderConfig


SHAPES = (Shape("8B", LLAMA_8B, "1B", LLAMA_1B), Shape("1B", LLAMA_1B, "135M", SMOLLM2_135M),
          Shape("135M", SMOLLM2_135M, "135M with 2 layers", replace(SMOLLM2_135M, num_layers=2)))
SMALL = Shape("small", DecoderConfig(512, 64, 128, 6, 4, 2, 16, rope_theta=1e4, max_positions=256), "the target, its head disturbed",
              DecoderConfig(512, 64, 128, 6, 4, 2, 16, max_positions=256))


def parameters(c: DecoderConfig) -> int:
    """The number of weights; a tied head counts once."""
    return sum(math.prod(shape) for shape in weights.plan(c).values())


def read_bytes(c: DecoderConfig, dtype: torch.dtype) -> int:
    """Bytes of weights that one pass over a few tokens reads: of an untied embedding it reads only single rows, which are not counted."""
    return (parameters(c) - (0 if c.tied_head else c.vocab_size * c.hidden_size)) * dtype.itemsize


def eagle_parameters(c: DecoderConfig) -> int:
    return sum(math.prod(shape) for shape in _eagle_plan(c).values())


def medusa_parameters(c: DecoderConfig) -> int:
    return MEDUSA_HEADS * (c.hidden_size * (c.hidden_size + 1) + c.vocab_size * c.hidden_size)


def random_decoder(c: DecoderConfig, dtype: torch.dtype, device: torch.device, seed: int = 0) -> Decoder:
    """Random weights whose hidden states keep their size through the layers and whose distributions are neither flat nor one-hot."""
    rng = torch.Generator(device).manual_seed(seed)
    model = Decoder(c, dtype, device).requires_grad_(False)
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, Linear):
                module.weight.normal_(0, module.weight.shape[1] ** -0.5, generator=rng)
                if module.bias is not None:
                    module.bias.zero_()
        model.embed.normal_(0, 2 * c.hidden_size ** -0.5, generator=rng)
        if not c.tied_head:
            model.head.weight.mul_(2)
    return model


def disturbed(model: Decoder, noise: float = 0.3) -> Decoder:
    """A copy with noise on its head: a draft model that is often right, not always. Only for untied heads."""
    out = copy.deepcopy(model)
    rng = torch.Generator(model.device).manual_seed(1)
    with torch.no_grad():
        out.head.weight += noise * model.head.weight.std() * torch.randn(model.head.weight.shape, generator=rng, dtype=model.dtype,
                                                                        device=model.device)
    return out


def _eagle_plan(c: DecoderConfig) -> dict[str, tuple[int, ...]]:
    """Tensor name -> shape of an EAGLE-3 head with a layer as wide as the target's."""
    H, at = c.hidden_size, "model.layers.0."
    layer = {n.removeprefix(at): s for n, s in weights.plan(replace(c, num_layers=1, qk_norm=False)).items() if n.startswith(at)}
    for name in ("q_proj", "k_proj", "v_proj"):
        layer[f"self_attn.{name}.weight"] = (layer[f"self_attn.{name}.weight"][0], 2 * H)
    return layer | {"fc.weight": (H, 3 * H), "norm.weight": (H,), "hidden_norm.weight": (H,), "lm_head.weight": (min(EAGLE_ROWS, c.vocab_size), H)}


def random_eagle(target: Decoder, seed: int = 1) -> EagleHead:
    c, where = target.config, {"dtype": target.dtype, "device": target.device}
    rng = torch.Generator(target.device).manual_seed(seed)
    tensors: dict[str, Tensor] = {}
    for name, shape in _eagle_plan(c).items():
        tensors[name] = torch.ones(shape, **where) if name.endswith("norm.weight") else torch.empty(shape, **where)
        if len(shape) == 2:
            tensors[name].normal_(0, shape[1] ** -0.5, generator=rng)
    rows = tensors["lm_head.weight"].shape[0]
    picked = torch.randperm(c.vocab_size, generator=rng, device=target.device)[:rows].sort().values if rows < c.vocab_size else None
    config = replace(c, num_layers=1, tied_head=False, qk_norm=False)
    return EagleHead(EagleTensors(3, config, tensors, read_aux_layers(None, c.num_layers), picked), target)


def random_medusa(target: Decoder, seed: int = 2) -> MedusaHeads:
    H, V, where = target.config.hidden_size, target.config.vocab_size, {"dtype": target.dtype, "device": target.device}
    rng = torch.Generator(target.device).manual_seed(seed)

    def noise(*shape: int) -> Tensor:
        return torch.empty(shape, **where).normal_(0, H ** -0.5, generator=rng)

    blocks = [[(noise(H, H), torch.zeros(H, **where))] for _ in range(MEDUSA_HEADS)]
    return MedusaHeads(MedusaTensors(blocks, [noise(V, H) for _ in range(MEDUSA_HEADS)]), target)


def target_pair(shape: Shape, dtype: torch.dtype, device: torch.device) -> Pair:
    """A pair with a random target and no drafts; `give` adds them."""
    return Pair(shape.name, shape.name, DecoderTarget(random_decoder(shape.target, dtype, device)), NoText())


def give(pair: Pair, method: str, draft: Decoder | EagleHead | MedusaHeads) -> None:
    """Add a draft to the pair as if it had been loaded from a folder."""
    pair.drafts[method] = Path("random")            # this folder is never read
    pair._loaded |= {"other text": None, method: (draft, None) if method == "draft" else draft}
