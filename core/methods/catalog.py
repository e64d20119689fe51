"""What each method is called, as its users' documentation calls it. Free of torch, so that the page can say it before a model is loaded."""
from __future__ import annotations

# In the order in which they are offered, on every tab of the page and on the command line.
LABELS = {
    "draft": "Draft model",
    "eagle": "EAGLE",
    "medusa": "Medusa",
    "lookup": "Prompt lookup (n-gram)",
    "suffix": "Suffix decoding",
    "lookup+draft": "Prompt lookup, then draft model",
    "lookup+eagle": "Prompt lookup, then EAGLE",
    "early-exit": "Self-speculative (early exit)",
    "plain": "Plain decoding",
}


def in_order(name: str) -> tuple[int, str]:
    """The key that sorts method names into the order above, an unknown one behind them."""
    names = list(LABELS)
    return (names.index(name) if name in LABELS else len(names), name)
