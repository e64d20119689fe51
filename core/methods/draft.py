"""The method `draft`: which proposer a pair's draft model needs, a chain, a tree, or a chain with another tokenizer."""
from __future__ import annotations

from typing import TYPE_CHECKING

from core.errors import UserError
from core.methods.base import Proposer
from core.methods.draft_model import DraftModel
from core.methods.draft_tree import DraftTree
from core.methods.other_vocab import OtherVocab
from core.methods.settings import Setting
from core.models.decoder import Decoder
from core.sampling.tree import parse_shape

if TYPE_CHECKING:
    from core.checkpoints.load import Pair

SETTINGS = (
    Setting("tree", str, "chain", "chain, or candidates per depth such as 3x2x1, where the method drafts trees"),
    Setting("vocab", str, "strict", "intersect: a draft with another tokenizer uses the tokens both have", choices=("strict", "intersect")),
)


def build(pair: Pair, tree: str = "chain", vocab: str = "strict") -> Proposer:
    """Raises UserError for a draft that does not fit the target, or a tree where only chains can run."""
    if tree == "auto":
        raise UserError("--tree auto has no meaning for --method draft: give the candidates per depth, such as 3x2x1.", "shape_auto",
                        setting="tree")
    shape = None if tree == "chain" else parse_shape(tree)
    if vocab == "intersect" and pair.other_text():
        if shape:
            raise UserError("--vocab intersect drafts chains only: leave --tree out.", "shape_chain", setting="tree")
        model, _ = pair.draft_of_any_text()         # no token map: this project's drafts alone have one, and they use the target's tokenizer
        return OtherVocab(model, pair.draft_text(), pair.text, pair.target.vocab_size, pair.draft_name("draft"))
    model, token_map = pair.draft_model()
    if shape is None:
        return DraftModel(model, token_map)
    for who, part in (("target", pair.target.model), ("draft", model)):
        if not isinstance(part, Decoder):
            raise UserError(f"The {who} runs through transformers, which drafts and verifies chains only: leave --tree out.", "shape_chain",
                            setting="tree")
    return DraftTree(model, token_map, shape)
