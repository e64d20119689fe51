"""What each method is called, for people. Free of torch, so that the page can say it before anything is loaded."""
from __future__ import annotations

# in the order in which they are offered
LABELS = {
    "draft": "draft model",
    "eagle": "EAGLE",
    "medusa": "Medusa",
    "lookup": "earlier text",
    "suffix": "habits",
    "lookup+draft": "earlier text or draft model",
    "lookup+eagle": "earlier text or EAGLE",
    "early-exit": "own layers",
    "plain": "nobody",
}
