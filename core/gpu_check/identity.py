"""Token identity on the device: every method against plain decoding in float64 on a small target, and how often each run waits."""
from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import torch

from core.checkpoints.load import Pair
from core.gpu_check import measure, shapes
from core.methods import registry
from core.methods.registry import Method
from core.sampling.probs import Sampling

NEW_TOKENS = 48
PROMPT = [(7 * i + 3) % 19 for i in range(40)]      # repeats itself, so that the lookups find something
COUPLED = {"verify": "coupled", "sampling": Sampling(0.9, top_p=0.95)}
TREES = {"draft": ("2x2x1",), "eagle": ("auto", "static"), "medusa": ("chain",)}     # besides each method's default


def variants() -> Iterator[tuple[str, Method, dict[str, Any], dict[str, Any]]]:
    """(label, method, settings, options) of every run: all registered methods, their trees, block verification of a chain,
    and coupled sampling with a chain and with each kind of tree."""
    for method in registry.METHODS.values():
        yield method.name, method, {}, {}
        for tree in TREES.get(method.name, ()):
            yield f"{method.name} --tree {tree}", method, {"tree": tree}, {}
    yield "draft --verify block", registry.get("draft"), {}, {"verify": "block"}
    for name, tree in (("draft", "chain"), ("draft", "2x2x1"), ("eagle", "auto"), ("medusa", "auto")):
        yield f"{name} --tree {tree} --verify coupled", registry.get(name), {"tree": tree}, COUPLED


def small_pair(device: torch.device) -> Pair:
    """A small random target in float64 with a draft model that is often right, an EAGLE head and Medusa heads."""
    pair = shapes.target_pair(shapes.SMALL, torch.float64, device)
    model = pair.target.model
    shapes.give(pair, "draft", shapes.disturbed(model))
    shapes.give(pair, "eagle", shapes.random_eagle(model))
    shapes.give(pair, "medusa", shapes.random_medusa(model))
    return pair


def check(device: torch.device, limit_s: float) -> tuple[list[dict[str, Any]], list[str]]:
    """(a record for each run, labels of the runs that there was no time for). equal: the same tokens as plain decoding with graphs off
    (a coupled run: sampled with the same seed).

    waits_per_round: calls of host_copy.wait; syncs_elsewhere: file:line -> other synchronisations, None on a CPU, where torch reports none.
    """
    end = time.perf_counter() + limit_s
    pair = small_pair(device)
    found, late = [], []
    plain, coupled = (measure.decode(pair, registry.get("plain"), {}, measure.MODES[0], PROMPT, NEW_TOKENS, **more).tokens for more in ({}, COUPLED))
    todo = [(*v, pair) for v in variants()]
    perfect = shapes.target_pair(shapes.SMALL, torch.float64, device)       # the same seed: the same weights
    shapes.give(perfect, "draft", perfect.target.model)
    todo.append(("draft, the target itself", registry.get("draft"), {}, {}, perfect))
    for graphs in measure.MODES:
        for label, method, settings, more, owner in todo:
            if time.perf_counter() > end:
                late.append(_labelled(label, graphs))
                continue
            for _ in range(measure.warm_ups(graphs)):       # first uses capture and wait; the watched run must do neither
                measure.decode(owner, method, settings, graphs, PROMPT, NEW_TOKENS, **more)
            with measure.watched(device) as watch:
                run = measure.decode(owner, method, settings, graphs, PROMPT, NEW_TOKENS, **more)
            drafting = [r for r in run.rounds if r.drafted]
            found.append({
                "run": label, "graphs": graphs, "equal": run.tokens == (coupled if more is COUPLED else plain), "rounds": len(run.rounds),
                "accepted": sum(d.verdict == "accepted" for r in drafting for d in r.drafted), "drafted": sum(len(r.drafted) for r in drafting),
                "waits_per_round": watch.waits / len(run.rounds), "syncs_elsewhere": watch.elsewhere})
    return found, late


def _labelled(label: str, graphs: bool) -> str:
    return f"{label}, graphs {'on' if graphs else 'off'}"
