"""Tiny draft heads in every published layout, and reference implementations of what they compute.

The references share no code with core: whole sequences, no cache, attention as loops.
"""
from __future__ import annotations

import json
from pathlib import Path

import torch
from torch import Tensor

from core.models.decoder import Decoder
from tests.core import tiny

F64 = torch.float64
V, H, INNER, HEADS, KV, D, L, DRAFT = 64, 32, 48, 4, 2, 8, 8, 40
PICKED = sorted(torch.randperm(V, generator=torch.Generator().manual_seed(5))[:DRAFT].tolist())
LAYER = {"model_type": "llama", "vocab_size": V, "hidden_size": H, "intermediate_size": INNER, "num_hidden_layers": 1, "num_attention_heads": HEADS,
         "num_key_value_heads": KV, "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "max_position_embeddings": 128, "hidden_act": "silu"}


def target(dtype: torch.dtype = F64, seed: int = 0, **changes) -> Decoder:
    return tiny.decoder(seed, dtype, **({"vocab_size": V, "num_layers": L, "max_positions": 128} | changes))


def noise(seed: int):
    rng = torch.Generator().manual_seed(seed)

    def make(*shape: int, scale: float = 0.3) -> Tensor:
        return torch.randn(*shape, generator=rng, dtype=F64) * scale
    return make


def write(folder: Path, config: dict | None, tensors: dict[str, Tensor], file: str = "model.safetensors") -> Path:
    from safetensors.torch import save_file
    folder.mkdir(parents=True, exist_ok=True)
    if config is not None:
        (folder / "config.json").write_text(json.dumps(config))
    tensors = {n: (t.float() if t.is_floating_point() else t).contiguous().clone() for n, t in tensors.items()}
    if file.endswith(".safetensors"):
        save_file(tensors, folder / file)
    else:
        torch.save(tensors, folder / file)
    return folder


# EAGLE

def layer_tensors(make, n_in: int, at: str, h: int = H) -> dict[str, Tensor]:
    sizes = {"self_attn.q_proj": (HEADS * D, n_in), "self_attn.k_proj": (KV * D, n_in), "self_attn.v_proj": (KV * D, n_in),
             "self_attn.o_proj": (h, HEADS * D), "mlp.gate_proj": (INNER, h), "mlp.up_proj": (INNER, h), "mlp.down_proj": (h, INNER)}
    return {f"{at}{name}.weight": make(*shape) for name, shape in sizes.items()} | {f"{at}post_attention_layernorm.weight": 1 + make(h)}


def eagle1(folder: Path, seed: int = 1, bias: bool = True, embed: bool = False, file: str = "pytorch_model.bin", **config) -> Path:
    make = noise(seed)
    tensors = {"fc.weight": make(H, 2 * H), **layer_tensors(make, H, "layers.0.")}
    if bias:
        tensors["fc.bias"] = make(H)
    if embed:
        tensors["embed_tokens.weight"] = make(V, H, scale=1)
    return write(folder, LAYER | config, tensors, file)


def eagle3_tensors(seed: int = 1, at: str = "midlayer.", ht: int = H, h: int = H, fc_norm: bool = False, norm_before_fc: bool = False,
                   embed: bool = False, reduced: bool = True) -> dict[str, Tensor]:
    make = noise(seed)
    rows = DRAFT if reduced else V
    tensors = {"fc.weight": make(h, 3 * ht), "norm.weight": 1 + make(h), "lm_head.weight": make(rows, h, scale=0.6),
               f"{at}hidden_norm.weight": 1 + make(h), f"{at}input_layernorm.weight": 1 + make(h), **layer_tensors(make, 2 * h, at, h)}
    if fc_norm:
        tensors |= {f"fc_norm.{i}.weight": 1 + make(ht) for i in range(3)}
    if norm_before_fc:
        tensors["input_norm.weight"] = 1 + make(3 * ht)
    if embed:
        tensors["embed_tokens.weight"] = make(V, h, scale=1)
    if reduced:
        picked = torch.tensor(PICKED)
        mask = torch.zeros(V, dtype=torch.bool)
        mask[picked] = True
        tensors |= {"d2t": picked - torch.arange(DRAFT), "t2d": mask}
    return tensors


def eagle3(folder: Path, seed: int = 1, flags: dict | None = None, config: dict | None = None, at: str = "midlayer.", ht: int = H, h: int = H,
           embed: bool = False, reduced: bool = True) -> Path:
    flags = flags or {}
    tensors = eagle3_tensors(seed, at, ht, h, flags.get("fc_norm", False), flags.get("norm_before_fc", False), embed, reduced)
    hf = LAYER | {"architectures": ["LlamaForCausalLMEagle3"], "draft_vocab_size": DRAFT if reduced else V, "hidden_size": h, "head_dim": D} | flags
    if ht != h:
        hf["target_hidden_size"] = ht
    return write(folder, hf | (config or {}), tensors)


def speculators(folder: Path, seed: int = 1, flags: dict | None = None, **config) -> Path:
    flags = {"norm_before_residual": False} | (flags or {})
    tensors = eagle3_tensors(seed, "layers.0.", fc_norm=flags.get("fc_norm", False), norm_before_fc=flags.get("norm_before_fc", False), embed=True)
    hf = {"architectures": ["Eagle3Speculator"], "speculators_model_type": "eagle3", "speculators_version": "0.3.0", "draft_vocab_size": DRAFT,
          "target_hidden_size": None, "eagle_aux_hidden_state_layer_ids": None, "transformer_layer_config": LAYER,
          "speculators_config": {"algorithm": "eagle3", "verifier": {"name_or_path": "org/target"}}} | flags | config
    return write(folder, hf, tensors)


def rms(x: Tensor, weight: Tensor, eps: float = 1e-6) -> Tensor:
    return x / (x.pow(2).mean(-1, keepdim=True) + eps).sqrt() * weight


def rotated(x: Tensor) -> Tensor:
    """x [n, heads, D], position = row."""
    half = x.shape[-1] // 2
    wavelengths = 10000.0 ** (torch.arange(half, dtype=torch.float32) / half)        # all implementations compute them in float32
    angle = torch.arange(x.shape[0], dtype=F64)[:, None] * (1 / wavelengths).double()
    cos, sin = angle.cos()[:, None], angle.sin()[:, None]
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


def attention(t: dict[str, Tensor], x: Tensor) -> Tensor:
    n = x.shape[0]
    q = rotated((x @ t["self_attn.q_proj.weight"].T).view(n, HEADS, D))
    k = rotated((x @ t["self_attn.k_proj.weight"].T).view(n, KV, D))
    v = (x @ t["self_attn.v_proj.weight"].T).view(n, KV, D)
    out = torch.empty(n, HEADS, D, dtype=x.dtype)
    for head in range(HEADS):
        mine = head // (HEADS // KV)
        for i in range(n):
            weight = (k[:i + 1, mine] @ q[i, head] / D ** 0.5).softmax(0)
            out[i, head] = weight @ v[:i + 1, mine]
    return out.reshape(n, -1) @ t["self_attn.o_proj.weight"].T


class EagleReference:
    """The reference of an EAGLE head: rows of verified tokens read the target's hidden states, rows of drafted tokens the head's own output."""

    def __init__(self, folder: Path, target: Decoder, file: str = "model.safetensors", aux_layers: tuple[int, ...] = (2, 4, 5),
                 flags: dict | None = None) -> None:
        from safetensors.torch import load_file
        raw = load_file(folder / file) if file.endswith(".safetensors") else torch.load(folder / file, weights_only=True)
        self.t = {n.removeprefix("midlayer.").removeprefix("layers.0."): (x.double() if x.is_floating_point() else x) for n, x in raw.items()}
        self.target, self.aux_layers, self.flags = target, aux_layers, flags or {}
        self.first = "norm.weight" not in self.t
        self.embed = self.t.get("embed_tokens.weight", target.embed.detach().double())

    def hidden_states(self, tokens: list[int]) -> Tensor:
        layers = [self.target.config.num_layers] if self.first else self.aux_layers
        _, hidden_states = self.target.run(torch.tensor([tokens]), aux_layers=layers)
        parts = [hidden_states[i][0].double() for i in layers]
        if self.first:
            return rms(parts[0], self.target.final_norm.double(), self.target.config.rms_norm_eps)
        if self.flags.get("fc_norm"):
            parts = [rms(x, self.t[f"fc_norm.{i}.weight"]) for i, x in enumerate(parts)]
        joined = torch.cat(parts, -1)
        if self.flags.get("norm_before_fc"):
            joined = rms(joined, self.t["input_norm.weight"])
        return joined @ self.t["fc.weight"].T

    def layer(self, ids: list[int], g: Tensor) -> Tensor:
        t, e = self.t, self.embed[ids]
        if self.first:
            g = x = torch.cat([e, g], -1) @ t["fc.weight"].T + t.get("fc.bias", 0)
        else:
            normed = rms(g, t["hidden_norm.weight"])
            x = torch.cat([rms(e, t["input_layernorm.weight"]), normed], -1)
            g = normed if self.flags.get("norm_before_residual") else g
        g = g + attention(t, x)
        y = rms(g, t["post_attention_layernorm.weight"])
        return g + (torch.nn.functional.silu(y @ t["mlp.gate_proj.weight"].T) * (y @ t["mlp.up_proj.weight"].T)) @ t["mlp.down_proj.weight"].T

    @torch.no_grad()
    def logits(self, tokens: list[int], drafted: list[int]) -> Tensor:
        """tokens: the verified ones and the last emitted one; drafted: those after them -> logits [V], -inf where the head has no row."""
        g = self.hidden_states(tokens[:-1])
        ids = tokens[1:]
        out = self.layer(ids, g)
        for token in drafted:
            back = rms(out[-1:], self.t["norm.weight"]) if self.flags.get("norm_output") else out[-1:]
            g, ids = torch.cat([g, back]), [*ids, token]
            out = self.layer(ids, g)
        if self.first:
            return out[-1] @ self.target.head.weight.double().T
        raw = rms(out[-1], self.t["norm.weight"]) @ self.t["lm_head.weight"].T
        if "d2t" not in self.t:
            return raw
        return torch.full((V,), -torch.inf, dtype=F64).index_copy(0, torch.tensor(PICKED), raw)


# Medusa

def medusa_blocks(seed: int, heads: int, layers: int, rows: int = V) -> tuple[list, list[Tensor]]:
    make = noise(seed)
    return [[(make(H, H), make(H)) for _ in range(layers)] for _ in range(heads)], [make(rows, H, scale=0.6) for _ in range(heads)]


def medusa(folder: Path, file: str = "medusa_lm_head.safetensors", heads: int = 3, layers: int = 1, seed: int = 1, legacy: bool = False, at: str = "",
           said: int = 2) -> dict[str, Tensor]:
    """The v0.1 layout (at="") or the heads of a 1.0 checkpoint (at="medusa_head."). Returns the tensors."""
    blocks, outputs = medusa_blocks(seed, heads, layers)
    tensors = {f"{at}{h}.{l}.linear.{kind}": t for h in range(heads) for l in range(layers) for kind, t in zip(("weight", "bias"), blocks[h][l])}
    if not legacy:
        tensors |= {f"{at}{h}.{layers}.weight": w for h, w in enumerate(outputs)}
    if not at:
        write(folder, {"medusa_num_heads": said, "medusa_num_layers": 1, "base_model_name_or_path": "org/base"}, tensors, file)
    return tensors


def medusa1(folder: Path, heads: int = 3, seed: int = 1) -> Path:
    """A 1.0 checkpoint: a model of two layers with heads, in two shards with an index."""
    c = tiny.config(vocab_size=V)
    tensors = tiny.random_tensors(c, 0) | medusa(folder, heads=heads, seed=seed, at="medusa_head.")
    names = sorted(tensors)
    parts = {"model-00001-of-00002.safetensors": names[::2], "model-00002-of-00002.safetensors": names[1::2]}
    for file, part in parts.items():
        write(folder, tiny.hf_config(c, medusa_num_heads=2), {n: tensors[n] for n in part}, file)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {n: f for f, part in parts.items() for n in part}}))
    return folder


def medusa_vllm(folder: Path, heads: int = 3, seed: int = 1, shared: bool = False, bias: bool = True, reduced: bool = True, **config) -> Path:
    rows = DRAFT if reduced else V
    blocks, outputs = medusa_blocks(seed, heads, 1, rows)
    tensors = {f"blocks.{h}.layers.0.weight": blocks[h][0][0] for h in range(heads)}
    if bias:
        tensors |= {f"blocks.{h}.layers.0.bias": blocks[h][0][1] for h in range(heads)}
    tensors |= {f"lm_heads.{h}.weight": outputs[h] for h in range(1 if shared else heads)}
    if reduced:
        tensors["token_map"] = torch.tensor(PICKED)
    hf = {"model_type": "medusa", "architectures": ["MedusaModel"], "hidden_size": H, "vocab_size": V, "num_heads": heads, "num_hidden_layers": 1,
          "truncated_vocab_size": rows, "medusa_fc_bias": bias, "original_lm_head": shared} | config
    return write(folder, hf, tensors)


def medusa_reference(hidden: Tensor, blocks: list, outputs: list[Tensor]) -> Tensor:
    """hidden [H], the target's last hidden state after its final norm -> logits [heads, rows]."""
    rows = []
    for h, layers in enumerate(blocks):
        x = hidden.double()
        for w, b in layers:
            y = w.float().double() @ x + (0 if b is None else b.float().double())
            x = x + y * torch.sigmoid(y)
        rows.append((outputs[h] if len(outputs) > 1 else outputs[0]).float().double() @ x)
    return torch.stack(rows)
