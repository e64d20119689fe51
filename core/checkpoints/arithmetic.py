"""`--dtype auto` on a CPU: tries the arithmetics that this torch and CPU have on a slice of the target, and takes the one in which
speculative decoding is expected to be fastest, a row-exact one where it is within a tenth. Kept in the cache for this machine and these versions.
"""
from __future__ import annotations

import copy
import hashlib
import json
import os
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from core.checkpoints import embedded
from core.models import kernels
from core.models.decoder import Decoder

FORMAT = 1
SMALL = 20_000_000              # weights of a model that is not worth the measuring
LENGTHS = (1, 2, 3, 4, 5, 6, 8)
SLICE = 6                       # layers that are timed: more than a CPU's caches hold
CONTEXT = 64
REPEATS = 4                     # the fastest counts: another program can only slow a pass down
SPENT = 2.0                     # seconds after which no further arithmetic is tried
ACCEPTED = 0.6                  # of drafted tokens, at every position, and ...
DRAFT_STEP = 0.1                # ... cost of a drafted token in passes over one: a draft head as ours, to compare arithmetics by
TENTH = 1.1
MOST_NATS = 0.01                # mean KL divergence per token from float32
# long enough to reach ordinary prose, code and numbers; any text would do, so long as it stays the same
TEXT = ("The river rises in the hills and runs for ninety kilometres to the sea. In spring it floods the meadows on both banks, and the farmers "
        "wait until May before they plough.\n\ndef mean(values):\n    return sum(values) / len(values)\n\nOf 240 people asked, 96 said yes.")
INSTRUCTIONS = ("ONEDNN_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY", "MKL_ENABLE_INSTRUCTIONS", "FBGEMM_ENABLE_INSTRUCTIONS")


@dataclass
class Choice:
    """name: as --dtype has it. tried: name -> pass_s {tokens: s}, tokens_per_s expected, row_exact, nats where compared, or why it was refused."""
    name: str
    why: str
    tried: dict[str, dict[str, Any]] = field(default_factory=dict)


def known(fingerprint: str) -> Choice | None:
    """What was chosen earlier for these weights on this machine."""
    try:
        kept = json.loads(_file(fingerprint).read_text(encoding="utf-8"))
        return Choice(**kept) if kernels.available(kept["name"]) or kept["name"] == "float32" else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def choose(load: Callable[[], Decoder], ids: Sequence[int], fingerprint: str) -> tuple[Decoder, Choice]:
    """load() -> the model in float32. ids: TEXT in its tokens. -> (the model in the chosen arithmetic, the choice, which is kept)."""
    model = load()
    small = sum(p.numel() for p in model.parameters()) < SMALL
    if small:
        name = "bfloat16" if kernels.available("bfloat16") else "float32"
        return apply(model, name), Choice(name, "the model is too small for a choice to matter")
    tried = measure(model)
    exact = torch.tensor(ids)[None]
    with torch.inference_mode():
        want = model(exact)[0].log_softmax(-1)
    for name in order(tried):
        if name != "float32":
            try:
                packed = apply(model if model is not None else load(), name)
            except RuntimeError as error:
                tried[name]["refused"], model = str(error), None
                continue
            model = None
            tried[name]["nats"] = nats(packed, exact, want)
            if tried[name]["nats"] > MOST_NATS:
                tried[name]["refused"] = f"{tried[name]['nats']:.3f} nats a token from float32, more than {MOST_NATS}"
                continue
        else:
            packed = model if model is not None else load()
        choice = Choice(name, _why(name, tried), tried)
        if not any("skipped" in t for t in tried.values()):         # else the machine was busy: measured again next time
            _keep(choice, fingerprint)
        return packed, choice
    raise AssertionError("float32 is never refused")


def apply(model: Decoder, name: str) -> Decoder:
    """The model, in float32 or already of this dtype, in this arithmetic, in place. Raises RuntimeError for weights that it cannot hold."""
    if name == "bfloat16":
        model = model.to(torch.bfloat16)
    if name in kernels.KERNELS and model.device.type == "cpu" and kernels.available(name):
        model.pack(name, exact=name in kernels.ROW_EXACT)
    return model


@torch.inference_mode()
def measure(model: Decoder) -> dict[str, dict[str, Any]]:
    """Seconds of passes over LENGTHS tokens in each arithmetic of this machine, from SLICE of the layers; and what to expect of it."""
    started, tried, layers = time.perf_counter(), {}, min(SLICE, model.config.num_layers)
    for name in ("w16a32", "w4a16", "w8a16", "bfloat16", "float32"):
        if name != "float32" and not kernels.available(name):
            continue
        if name != "float32" and time.perf_counter() - started > SPENT:
            tried[name] = {"skipped": f"measuring had taken more than {SPENT:g} s"}
            continue
        try:
            part = apply(_slice(model, layers), name)
        except RuntimeError as error:
            tried[name] = {"refused": str(error)}
            continue
        if name == "w4a16" and not any(isinstance(m, kernels.W4A16) for m in _kernels(part)):
            continue                        # nothing in it comes from 4 bits: it would be w8a16
        times = _passes(part, model.config.num_layers / layers)
        tried[name] = {"pass_s": {str(k): s for k, s in times.items()}, "tokens_per_s": expected(times), "row_exact": part.row_exact}
    return tried


def expected(pass_s: dict[int, float]) -> float:
    """Tokens per second of the best chain, or of none, for a draft that is accepted with ACCEPTED and costs DRAFT_STEP (Leviathan et al. 2023)."""
    def rate(k: int) -> float:
        return sum(ACCEPTED ** i for i in range(k + 1)) / (pass_s[k + 1] + k * DRAFT_STEP * pass_s[1])
    return max(rate(k - 1) for k in pass_s)


def order(tried: dict[str, dict[str, Any]]) -> list[str]:
    """The names, best first: the fastest, but row-exact ones before all that are less than a tenth faster than they."""
    def rank(name: str) -> float:
        return tried[name]["tokens_per_s"] * (TENTH if tried[name]["row_exact"] else 1)
    return sorted((name for name in tried if "pass_s" in tried[name]), key=rank, reverse=True)


def nats(model: Decoder, ids: Tensor, want: Tensor) -> float:
    """Mean over positions of KL(float32 || model). ids [1, K], want [K, V]: float32's log probabilities."""
    with torch.inference_mode():
        got = model(ids)[0].float().log_softmax(-1)
    return float((want.exp() * (want - got)).sum(-1).mean())


def _why(name: str, tried: dict[str, dict[str, Any]]) -> str:
    fastest = max((n for n in tried if "pass_s" in tried[n] and "refused" not in tried[n]), key=lambda n: tried[n]["tokens_per_s"])
    if name == fastest:
        return "the fastest here" + (", and row-exact" if tried[name]["row_exact"] else "")
    return f"row-exact, and within a tenth of {fastest}"


def _slice(model: Decoder, layers: int) -> Decoder:
    """The first layers with the whole model's embedding, norm and head, as copies that can be packed."""
    with torch.device("meta"):
        part = Decoder(replace(model.config, num_layers=0), model.dtype)
    part.config = replace(model.config, num_layers=layers)
    part.layers = torch.nn.ModuleList(copy.deepcopy(layer) for layer in model.layers[:layers])
    def own(weight: Tensor) -> torch.nn.Parameter:          # the same numbers; a conversion of the slice leaves the model alone
        return torch.nn.Parameter(weight.detach(), requires_grad=False)

    part.embed, part.final_norm, part.head.weight = own(model.embed), own(model.final_norm), own(model.head.weight)
    return part


def _kernels(model: Decoder) -> list[Any]:
    return [m.kernel for m in model.modules() if getattr(m, "kernel", None) is not None and m is not model]


def _passes(part: Decoder, scale: float) -> dict[int, float]:
    """Seconds of a pass over each of LENGTHS tokens of a model with `scale` times these layers."""
    cache, ids = part.new_cache(CONTEXT + max(LENGTHS)), torch.zeros(1, CONTEXT, dtype=torch.long)
    part(ids, cache)
    best = {k: float("inf") for k in LENGTHS}
    for _ in range(REPEATS):
        for k in LENGTHS:
            start = time.perf_counter()
            hidden = part.run(ids[:, :k], cache)[0]
            middle = time.perf_counter()
            part.logits(hidden[0])
            best[k] = min(best[k], scale * (middle - start) + time.perf_counter() - middle)
            cache.truncate(CONTEXT)
    return best


def _file(fingerprint: str) -> Path:
    machine = [FORMAT, platform.machine(), _cpu(), torch.__version__, torch.get_num_threads(), torch.backends.cpu.get_cpu_capability(),
               *(os.environ.get(name) for name in INSTRUCTIONS), fingerprint]
    return embedded.cache_root() / f"arithmetic-{hashlib.sha256(json.dumps(machine).encode()).hexdigest()[:16]}.json"


def _cpu() -> str:
    """Name and abilities of the processor, as far as the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return "|".join(next((line for line in lines if line.startswith(key)), "") for key in ("model name", "flags", "Features"))
    except OSError:
        return platform.processor()


def _keep(choice: Choice, fingerprint: str) -> None:
    try:
        file = _file(fingerprint)
        file.parent.mkdir(parents=True, exist_ok=True)
        made = file.with_suffix(f".{os.getpid()}")
        made.write_text(json.dumps(vars(choice), indent=1), encoding="utf-8")
        made.replace(file)
    except OSError:
        pass            # a read-only cache: measured again next time
