"""What each method is called and what it is, in words for people. Free of torch, so that the page can say it before anything is loaded."""
from __future__ import annotations

# name -> (label, one sentence); the order is the order in which they are offered
WORDS: dict[str, tuple[str, str]] = {
    "draft": ("draft model", "A small model writes ahead; the target checks all of it in one pass."),
    "eagle": ("EAGLE", "A one-layer head reads the target's inner states and writes ahead."),
    "medusa": ("Medusa", "Small heads on the target's last state guess several tokens at once."),
    "lookup": ("earlier text", "What followed the same few tokens earlier in the prompt or answer is proposed again; no model, no cost."),
    "suffix": ("habits", "What most often followed the same tokens, in this text and in this model's earlier answers."),
    "lookup+draft": ("earlier text or draft model", "Earlier text where a long match is found, else the draft model."),
    "lookup+eagle": ("earlier text or EAGLE", "Earlier text where a long match is found, else the EAGLE head."),
    "early-exit": ("own layers", "The target drafts with some of its own layers left out; needs nothing more, pays only for targets trained to "
                                 "exit early."),
    "plain": ("nobody", "Plain decoding: one pass of the target for each token."),
}
