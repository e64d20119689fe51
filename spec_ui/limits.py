"""What a visitor may ask for, checked on the server at every event; the browser's sliders are only a convenience."""

from __future__ import annotations

import math

from core.engine import RunRequest  # light: torch comes with the loading thread

PROMPT_CHARS = 4000
NEW_TOKENS = (1, 256)
DRAFT_LEN = (1, 10)
TEMPERATURE = (0.0, 2.0)
SEED = (0, 2**32 - 1)
RUN_SECONDS = 60
WAITING = 40


class Refused(Exception):
    """One clear sentence for the page."""


def _number(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise Refused(f"{name} must be a number.")
    return float(value)


def _whole(value: object, name: str, bounds: tuple[int, int]) -> int:
    number = _number(value, name)
    if number != int(number) or not bounds[0] <= number <= bounds[1]:
        raise Refused(f"{name} must be a whole number from {bounds[0]} to {bounds[1]}.")
    return int(number)


def check_prompt(prompt: object) -> str:
    if not isinstance(prompt, str) or not prompt.strip():
        raise Refused("Write a prompt first, or choose an example.")
    if len(prompt) > PROMPT_CHARS:
        raise Refused(f"The prompt has {len(prompt)} characters; at most {PROMPT_CHARS} fit.")
    # A lone surrogate half is no character: no tokenizer can encode it.
    return prompt.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def check_method(method: object, known: list[str]) -> str:
    if not isinstance(method, str) or method not in known:
        raise Refused("Choose one of the methods shown.")
    return method


def check(
    prompt: object, method: object, draft_len: object, temperature: object, top_p: object, seed: object, max_new: object, known: list[str]
) -> RunRequest:
    """The request, or Refused with one sentence. Models, paths and devices are not among the things a visitor can name."""
    prompt, method = check_prompt(prompt), check_method(method, known)
    heat = _number(temperature, "Temperature")
    if not TEMPERATURE[0] <= heat <= TEMPERATURE[1]:
        raise Refused(f"Temperature must be between {TEMPERATURE[0]:g} and {TEMPERATURE[1]:g}.")
    mass = _number(top_p, "Top-p")
    if not 0 < mass <= 1:
        raise Refused("Top-p must be above 0 and at most 1.")
    return RunRequest(
        prompt,
        method,
        draft_len=_whole(draft_len, "Draft length", DRAFT_LEN),
        temperature=heat,
        top_p=mass,
        seed=_whole(seed, "Seed", SEED),
        max_new_tokens=_whole(max_new, "The number of new tokens", NEW_TOKENS),
    )
