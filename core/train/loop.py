"""The training loop of every kind of draft: Muon or AdamW, linear decay, checkpoints, resuming."""
from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from core.errors import UserError
from core.train.batches import Texts
from core.train.held_out import HeldOut
from core.train.score import Score

CHECKPOINT_SECONDS = 180        # between two checkpoints
MUON_RMS = 0.04     # root mean square of Muon's orthogonal steps at these widths: turns a learning rate for Muon into one for AdamW
WARMUP = 0.02       # share of the run during which the learning rates rise


@dataclass(frozen=True)
class Options:
    """Options of a training run. kl, tv: weights of the two terms of core.train.loss."""
    tokens: int = 1_000_000         # to see in all, repetitions included
    batch: int = 16                 # texts a step
    optimizer: str = "muon"         # of the matrices, or "adamw"; all other parameters have AdamW
    matrix_lr: float = 0.02
    rest_lr: float = 1e-3
    kl: float = 1.0
    tv: float = 0.0
    seed: int = 0
    measure_every: int = 100_000    # tokens between two held-out measurements


def optimizers(objective: Any, options: Options, say: Callable[[str], None]) -> list[torch.optim.Optimizer]:
    """Muon (Jordan et al. 2024) orthogonalises every step: steps are more effective, but each costs as much as some 600 tokens here."""
    matrices, rest = objective.trained()
    adam = {"betas": (0.9, 0.95), "weight_decay": 0.0}
    if options.optimizer == "muon" and hasattr(torch.optim, "Muon"):
        return [torch.optim.Muon(matrices, lr=options.matrix_lr, weight_decay=0.0), torch.optim.AdamW(rest, lr=options.rest_lr, **adam)]
    rate = options.matrix_lr
    if options.optimizer == "muon":
        say("This PyTorch has no Muon (2.9 and later do): AdamW trains the matrices too, which takes more tokens.")
        rate *= MUON_RMS
    return [torch.optim.AdamW([{"params": matrices, "lr": rate}, {"params": rest, "lr": options.rest_lr}], **adam)]


def measure(objective: Any, held_out: HeldOut, autocast: torch.dtype | None) -> dict:
    """Held-out acceptance: the result of core.train.score.Score."""
    score = Score(objective.depth)
    with torch.no_grad(), _autocast(held_out.batches[0].ids.device.type, autocast):
        for batch, dists in zip(held_out.batches, held_out.dists):
            objective.measure(batch, dists, score)
    return score.result()


def train(objective: nn.Module, texts: Texts, held_out: HeldOut, options: Options, folder: Path, *, resume: bool = False,
          autocast: torch.dtype | None = torch.bfloat16, say: Callable[[str], None] = print, show: bool = True, facts: dict | None = None) -> dict:
    """Train until `options.tokens` are seen or Ctrl-C. Returns the record, which is also written to folder/training.json.

    A checkpoint (weights, optimizers, position in the data) is written every few minutes and at the end, always between two steps. A run
    resumed from it gives bit for bit the result of an uninterrupted one on the same machine.
    """
    import tqdm
    opts = optimizers(objective, options, say)
    state: dict[str, Any] = {"step": 0, "epoch": 0, "place": 0, "seen": 0, "seconds": 0.0, "curve": []}
    path = folder / "checkpoint.pt"
    if resume:
        state = _load(path, objective, opts, options)
    peaks = [g["lr"] if "peak" not in g else g["peak"] for o in opts for g in o.param_groups]
    for group, peak in zip((g for o in opts for g in o.param_groups), peaks):
        group["peak"] = peak
    saved, began = time.monotonic(), time.monotonic()
    order = texts.order(state["epoch"], options.batch, options.seed)
    if not order:
        raise UserError("Every text is held out: there is nothing to train on. Give more data.")
    bar = tqdm.tqdm(total=options.tokens, initial=min(state["seen"], options.tokens), unit="tok", disable=not show, smoothing=0.05)
    if not state["curve"] and held_out.batches:
        state["curve"].append({"seen": 0, "loss": None, **measure(objective, held_out, autocast)})
    running: float | None = state.get("running")
    with bar, _interruptible() as stopped:
        while state["seen"] < options.tokens and not stopped:
            if state["place"] == len(order):
                state["epoch"], state["place"] = state["epoch"] + 1, 0
                order = texts.order(state["epoch"], options.batch, options.seed)
            batch = texts.batch(order[state["place"]])
            rate = learning_rate(state["seen"] / options.tokens)
            for group in (g for o in opts for g in o.param_groups):
                group["lr"] = group["peak"] * rate
            with _autocast(batch.ids.device.type, autocast):
                loss = objective.loss(batch, autocast or torch.float32, options.kl, options.tv)
            loss.backward()
            for o in opts:
                o.step()
                o.zero_grad(set_to_none=True)
            value = float(loss.detach())
            running = value if running is None else 0.95 * running + 0.05 * value
            before = state["seen"]
            state |= {"step": state["step"] + 1, "place": state["place"] + 1, "seen": before + batch.tokens, "running": running}
            due = before // options.measure_every != state["seen"] // options.measure_every or state["seen"] >= options.tokens
            if due and held_out.batches:
                state["curve"].append({"seen": state["seen"], "loss": round(running, 4), **measure(objective, held_out, autocast)})
            bar.update(batch.tokens)
            bar.set_postfix_str(_words(running, state["curve"]))
            if due or stopped or time.monotonic() - saved > CHECKPOINT_SECONDS:
                now = time.monotonic()
                state["seconds"], began, saved = state["seconds"] + now - began, now, now
                _save(path, objective, opts, options, state)
    if not path.exists():
        _save(path, objective, opts, options, state)
    objective.save(folder)
    record = {**(facts or {}), "options": asdict(options), "tokens_seen": state["seen"], "steps": state["step"],
              "seconds": round(state["seconds"], 1),
              "interrupted": state["seen"] < options.tokens, "curve": state["curve"]}
    (folder / "training.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return record


def learning_rate(done: float) -> float:
    """Share of the peak learning rate after a share `done` of the run: a short rise, then a linear decay to 0."""
    return min((done + 1e-3) / WARMUP, 1.0) * max(0.0, 1 - done)


def _words(loss: float, curve: list[dict]) -> str:
    last = curve[-1] if curve else {}
    held = f", held out: agree {last['agree_by_position'][0]:.3f}, overlap {last['overlap_by_position'][0]:.3f}" if last else ""
    return f"loss {loss:.3f}{held}"


def _autocast(device: str, dtype: torch.dtype | None) -> torch.autocast:
    return torch.autocast(device, dtype or torch.bfloat16, enabled=dtype is not None)


def _save(path: Path, objective: nn.Module, opts: list[torch.optim.Optimizer], options: Options, state: dict) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    torch.save({"weights": _weights(objective), "token_ids": objective.token_ids, "optimizers": [o.state_dict() for o in opts],
                "options": asdict(options), "state": state}, new)
    os.replace(new, path)


def _weights(objective: nn.Module) -> dict[str, torch.Tensor]:
    return {n: p.detach() for n, p in objective.named_parameters() if p.requires_grad} | dict(objective.named_buffers())


def saved_token_ids(folder: Path) -> torch.Tensor:
    """The draft's vocabulary in the checkpoint of `folder`, which a resumed run keeps, whatever new data it has."""
    return _read(folder / "checkpoint.pt")["token_ids"]


def _read(path: Path) -> dict:
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise UserError(f"There is no {path} to resume from; leave out --resume.") from None


def _load(path: Path, objective: nn.Module, opts: list[torch.optim.Optimizer], options: Options) -> dict:
    there = _read(path)
    for name in ("batch", "seed"):
        if there["options"][name] != getattr(options, name):
            raise UserError(f"{path} was made with --{name} {there['options'][name]}; resume with the same.")
    with torch.no_grad():
        for name, p in _weights(objective).items():
            if name not in there["weights"] or there["weights"][name].shape != p.shape:
                raise UserError(f"{path} holds a draft of another shape ({name}); resume with the options it was begun with.")
            p.copy_(there["weights"][name])
    for o, saved in zip(opts, there["optimizers"]):
        rates = [g["lr"] for g in o.param_groups]       # from the options, which may differ from the checkpoint's
        o.load_state_dict(saved)
        for group, rate in zip(o.param_groups, rates):
            group["lr"] = rate
            group.pop("peak", None)
    return there["state"]


@contextmanager
def _interruptible() -> Iterator[list]:
    """Inside, the first Ctrl-C only fills the list, so that the step can end; a second one interrupts. Without effect outside the main thread."""
    stopped: list[bool] = []

    def ask(*_: Any) -> None:
        if stopped:
            raise KeyboardInterrupt
        stopped.append(True)

    try:
        old = signal.signal(signal.SIGINT, ask)
    except ValueError:
        yield stopped
        return
    try:
        yield stopped
    finally:
        signal.signal(signal.SIGINT, old)
