"""Token identity on the device itself: every method against plain decoding, float64, small shapes; and the waits of each run."""
from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import torch

from core.checkpoints.load import Pair
from core.gpu_check import measure, shapes
from core.methods import registry
from core.methods.registry import Method

NEW_TOKENS = 48
PROMPT = [(7 * i + 3) % 19 for i in range(40)]      # repeats itself, so that the lookups find something
TREES = {"draft": ("2x2x1",), "eagle": ("auto", "static"), "medusa": ("chain",)}     # beside each method's default


def variants() -> Iterator[tuple[str, Method, dict[str, Any], dict[str, Any]]]:
    """(label, method, settings, options) of every run: all registered methods, their trees, block verification of a chain."""
    for method in registry.METHODS.values():
        yield method.name, method, {}, {}
        for tree in TREES.get(method.name, ()):
            yield f"{method.name} --tree {tree}", method, {"tree": tree}, {}
    yield "draft --verify block", registry.get("draft"), {}, {"verify": "block"}


def small_pair(device: torch.device) -> Pair:
    pair = shapes.target_pair(shapes.SMALL, torch.float64, device)
    model = pair.target.model
    shapes.give(pair, "draft", shapes.disturbed(model))
    shapes.give(pair, "eagle", shapes.random_eagle(model))
    shapes.give(pair, "medusa", shapes.random_medusa(model))
    return pair


def check(device: torch.device, limit_s: float) -> tuple[list[dict[str, Any]], list[str]]:
    """(one record a run, labels that the time did not suffice for). equal: the same tokens as plain decoding with graphs off.

    waits_per_round: through the one counted function; syncs_elsewhere: place -> times, None on the CPU, where torch cannot tell.
    """
    end = time.perf_counter() + limit_s
    pair = small_pair(device)
    found, late = [], []
    plain = measure.decode(pair, registry.get("plain"), {}, measure.MODES[0], PROMPT, NEW_TOKENS).tokens
    todo = [(*v, pair) for v in variants()]
    perfect = shapes.target_pair(shapes.SMALL, torch.float64, device)       # the same seed: the same weights
    shapes.give(perfect, "draft", perfect.target.model)
    todo.append(("draft, the target itself", registry.get("draft"), {}, {}, perfect))
    for graphs in measure.MODES:
        for label, method, settings, more, whose in todo:
            if time.perf_counter() > end:
                late.append(_named(label, graphs))
                continue
            for _ in range(measure.warm_ups(graphs)):       # captures and the waits of a first use are no round's
                measure.decode(whose, method, settings, graphs, PROMPT, NEW_TOKENS, **more)
            with measure.watched(device) as watch:
                run = measure.decode(whose, method, settings, graphs, PROMPT, NEW_TOKENS, **more)
            drafting = [r for r in run.rounds if r.drafted]
            found.append({
                "run": label, "graphs": graphs, "equal": run.tokens == plain, "rounds": len(run.rounds),
                "accepted": sum(d.verdict == "accepted" for r in drafting for d in r.drafted), "drafted": sum(len(r.drafted) for r in drafting),
                "waits_per_round": watch.waits / len(run.rounds), "syncs_elsewhere": watch.elsewhere})
    return found, late


def _named(label: str, graphs: bool) -> str:
    return f"{label}, graphs {'on' if graphs else 'off'}"
