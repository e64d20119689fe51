"""A draft with another tokenizer: it reads the same text, its distribution is that of the shared tokens, and the target's distribution stays."""
from __future__ import annotations

import pytest
import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from core.checkpoints import load
from core.decoding.loop import Decoding, Options
from core.errors import UserError
from core.methods.base import SamplingContext
from core.methods.draft_model import DraftModel
from core.methods.other_vocab import OtherVocab, SharedChain, shared
from core.methods.registry import METHODS
from core.models.text import NoText, Text
from core.sampling import probs
from core.sampling.probs import Sampling
from tests.core import check, tiny
from tests.core.methods import proofs
from tests.core.methods.proofs import OPTIONS, REPEATING
from tests.core.tiny import decode, emitted

LETTERS = "abcdefghijklmnopqrst"


def text(pieces, specials: tuple[str, ...] = ()) -> Text:
    """Byte-level BPE whose ids are the order of `pieces`; every longer piece is a merge of its first part and its last letter."""
    vocab = {p: i for i, p in enumerate([*specials, *pieces])}
    merges = [(p[:-1], p[-1]) for p in sorted(pieces, key=len) if len(p) > 1 and p.isalpha()]
    out = Tokenizer(models.BPE(vocab=vocab, merges=merges))
    out.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    out.decoder = decoders.ByteLevel()
    out.add_special_tokens([AddedToken(s, special=True) for s in specials])
    return tiny.text(out)


TARGET = text(LETTERS)
ORDER = [(7 * i) % 20 for i in range(20)]
PERMUTED = text([LETTERS[i] for i in ORDER])                                          # the same tokens under other ids
MERGED = text(["ab", "c", "b", "a", "abc", "de", *LETTERS[3:12], "bd", "fg", "hi", "bb", "cc"])   # other tokens too: texts are cut elsewhere


def permuted(model):
    """The same model under PERMUTED's ids."""
    out = tiny.decoder()
    order = torch.tensor(ORDER)
    out.embed.data, out.head.weight = model.embed.data[order].clone(), torch.nn.Parameter(model.head.weight[order].clone())
    return out


def opposite(model):
    out = permuted(model)
    out.head.weight = torch.nn.Parameter(-out.head.weight)
    return out


DRAFTS = {"perfect": lambda to: OtherVocab(permuted(to.model), PERMUTED, TARGET, 20, "draft"),
          "wrong": lambda to: OtherVocab(opposite(to.model), PERMUTED, TARGET, 20, "draft"),
          "other": lambda to: OtherVocab(tiny.decoder(7, num_layers=1), MERGED, TARGET, 20, "draft")}


@pytest.mark.usefixtures("runner")
@pytest.mark.parametrize("name", DRAFTS)
def test_greedy_output_is_that_of_plain_decoding(name):
    rounds = [r for k in (1, 4) for r in proofs.greedy_is_plain(DRAFTS[name], [REPEATING, [1, 1, 1], [7], list(range(20))], draft_len=k)]
    accepted = sum(d.verdict == "accepted" for r in rounds for d in r.drafted)
    assert sum(len(r.drafted) for r in rounds) > 50
    assert (accepted == 0) == (name == "wrong")


@pytest.mark.usefixtures("runner")
@pytest.mark.parametrize("sampling", [Sampling(), *OPTIONS.values()], ids=["greedy", *OPTIONS])
def test_a_perfect_draft_is_accepted_in_every_round(sampling):
    """Also after full acceptance, when the draft has not read its own last token; through two tokenizers."""
    to = tiny.target()
    run, rounds = decode(to, DRAFTS["perfect"](to), REPEATING, sampling=sampling, max_new_tokens=23, seed=5)
    check.run(run, rounds, len(REPEATING))
    assert all(d.verdict == "accepted" for r in rounds for d in r.drafted) and len(rounds) == 1 + -(-22 // 5)


@pytest.mark.parametrize("sampling", [Sampling(1.0), Sampling(1.2, 5, 0.9, repetition_penalty=1.5)], ids=["T=1", "all"])
def test_q_is_the_drafts_law_on_the_shared_tokens(sampling):
    """Each round, against a fresh forward over the draft's own tokens of the text: what it keeps cached is right after every re-cut."""
    to, model, recut = tiny.target(), tiny.decoder(7, num_layers=1), 0
    pairs = shared(MERGED, TARGET, 20, 20, "draft")
    rows, ids = (torch.tensor(x) for x in zip(*pairs))
    for seed in range(4):
        proposer = OtherVocab(model, MERGED, TARGET, 20, "draft")
        tokens, kept = list(REPEATING), None
        for r in Decoding(to, proposer, REPEATING, Options(30, 3, sampling, seed)):
            mine = MERGED.encode(TARGET.decode(tokens))
            recut += kept is not None and mine[:len(kept)] != kept
            kept = mine
            for i, d in enumerate(r.drafted):
                before = [x.id for x in r.drafted[:i]]
                own = [int(rows[ids.tolist().index(t)]) for t in before]
                seen = torch.zeros(20, dtype=torch.bool)
                seen[[*tokens, *before]] = True
                raw = tiny.logits_after(model, [*mine, *own])[rows]
                dist = probs.probabilities(probs.scores(raw, sampling, seen[ids]), sampling)
                assert d.q == pytest.approx(float(dist[ids.tolist().index(d.id)]), rel=1e-9)
            tokens += [e.id for e in r.emitted]
    assert recut > 1


@pytest.mark.parametrize("sampling", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("context", [[0, 1, 2, 0], [3, 0, 1]], ids=str)
def test_the_law_is_the_targets_by_enumeration(context, sampling, monkeypatch):
    ours, theirs = text(["a", "b", "c", "ab"]), text(["b", "ba", "a", "c"])
    to = tiny.DecoderTarget(tiny.decoder(vocab_size=4), None, ())
    draft = tiny.decoder(7, vocab_size=4, num_layers=1)
    drafts = proofs.exact_distribution(lambda to: OtherVocab(draft, theirs, ours, 4, "draft"), to, context, sampling, 2, monkeypatch)
    assert drafts > 1 or sampling != OPTIONS["T=1"]


@pytest.mark.usefixtures("runner")
@pytest.mark.parametrize("name", ["perfect", "other"])
def test_the_other_proofs(name):
    proofs.penalty_is_plain(DRAFTS[name], 1.3)
    proofs.penalty_is_plain(DRAFTS[name], 1e9)
    proofs.lengths(DRAFTS[name])
    places = proofs.eos_everywhere(DRAFTS[name])
    if name == "perfect":
        assert places >= {0, 2, 3, 4}
    proofs.twice(DRAFTS[name])
    proofs.caches_agree(DRAFTS[name])


@pytest.mark.usefixtures("runner")
def test_a_draft_with_a_shorter_context_stops_drafting_there():
    to = tiny.target()
    draft = OtherVocab(tiny.decoder(0, max_positions=20), PERMUTED, TARGET, 20, "draft")
    _, rounds = decode(to, draft, REPEATING, max_new_tokens=20)
    assert emitted(rounds) == tiny.greedy(to.model, REPEATING, 20)
    assert any(r.drafted for r in rounds) and not rounds[-2].drafted


# -- texts --------------------------------------------------------------------------------------------------------------------------


def test_what_is_shared():
    assert shared(PERMUTED, TARGET, 20, 20, "d") == [(ORDER.index(t), t) for t in range(20)]
    pairs = shared(MERGED, TARGET, 20, 20, "d")
    assert [TARGET.piece(t) for _, t in pairs] == [MERGED.piece(d) for d, _ in pairs] == list(LETTERS[:12])
    assert shared(PERMUTED, TARGET, 20, 9, "d")[-1][1] == 8                              # ids the target cannot emit are left out
    metaspace = Tokenizer(models.WordLevel({"\u2581a": 0, "b": 1, "c": 2, "\u2581": 3}, unk_token="b"))
    metaspace.pre_tokenizer, metaspace.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    spaced = text(["b", "\u0120a", "a", "\u0120"])                                           # trap 27: " a" and "▁a" are the same text
    assert shared(tiny.text(metaspace), spaced, 4, 4, "d") == [(1, 0), (0, 1), (3, 3)]


def test_special_tokens_are_shared_by_name_alone():
    ours, theirs = text(LETTERS[:8], ("<end>", "<own>")), text(["<own>", *LETTERS[:8]], ("<end>",))
    pairs = shared(theirs, ours, 10, 10, "d")
    assert (0, 0) in pairs and 1 not in [t for _, t in pairs]                          # "<own>" is plain text there
    proposer = OtherVocab(tiny.decoder(vocab_size=10), theirs, ours, 10, "d")
    assert proposer.read([0, 2, 1, 3]) == [0, 2, 3]                                      # a special token the draft has never heard of is left out


def test_words_that_were_added_are_text():
    """Blanks that one vocabulary has as an added token (Phi's, GPT-NeoX's) and the other as an ordinary one are shared, and read by the draft."""
    blanks = text(LETTERS[:8])
    blanks.tokenizer.add_tokens([AddedToken("  ", special=False, normalized=False)])
    ours, theirs = Text(blanks.tokenizer), text([*LETTERS[:8], "\u0120", "\u0120\u0120"])
    assert ours.added == {8} and not ours.special
    assert shared(theirs, ours, 10, 10, "d") == [*((i, i) for i in range(8)), (9, 8)]
    assert shared(ours, theirs, 10, 10, "d") == [*((i, i) for i in range(8)), (8, 9)]
    own = text([*LETTERS[:8], "\u0120"])
    assert OtherVocab(tiny.decoder(vocab_size=9), own, ours, 9, "d").read([0, 8, 1]) == [0, 8, 8, 1]


def test_an_id_without_a_token_is_not_shared():
    vocab = {p: i for i, p in enumerate("abcdefgh")} | {"i": 9}
    out = Tokenizer(models.BPE(vocab=vocab, merges=[]))
    out.decoder = decoders.ByteLevel()
    with_hole = tiny.text(out)
    assert with_hole.size == 10 and shared(with_hole, with_hole, 10, 10, "d") == [(i, i) for i in [*range(8), 9]]


@pytest.mark.parametrize(("draft", "said"), [(text("uvwxyz"), "0 of 6"), (text("abuvwxyz0123456789"), "11%"), (NoText(), "no tokenizer")])
def test_too_little_in_common_is_refused(draft, said):
    with pytest.raises(UserError, match=said):
        OtherVocab(tiny.decoder(), draft, TARGET, 20, "some draft")


@torch.inference_mode()      # as in a round
def test_nothing_is_proposed_inside_a_character():
    full = tiny.text(tiny.tokenizer())
    to = tiny.DecoderTarget(tiny.decoder(vocab_size=258), None, ())
    proposer = OtherVocab(tiny.decoder(7, vocab_size=258), full, full, 258, "d")
    snowman = full.encode("a\u2603")
    assert len(snowman) == 4
    for tokens, whole in ((snowman[:1], True), (snowman[:2], False), (snowman[:3], False), (snowman, True)):
        ctx = proofs.context(to, tokens, Sampling())
        proposer.begin(ctx)
        assert (proposer.propose(ctx, 3) is not None) == whole


def test_through_folders(tmp_path):
    """Without the flag the refusal names it; with it the draft runs; a draft of the same vocabulary is an ordinary one."""
    to = tiny.checkpoint(tmp_path / "target", tokenizer=TARGET.tokenizer.backend_tokenizer)
    other = tiny.checkpoint(tmp_path / "other", 7, MERGED.tokenizer.backend_tokenizer)
    same = tiny.checkpoint(tmp_path / "same", 7, TARGET.tokenizer.backend_tokenizer)
    strange = tiny.checkpoint(tmp_path / "strange", 7, text("0123456789ABCDEFGHIJ").tokenizer.backend_tokenizer)
    pair = load.load(target=str(to), draft=str(other), dtype="float32", device="cpu")
    for order in (["strict", "intersect"], ["intersect", "strict"]):
        for vocab in order:
            if vocab == "strict":
                with pytest.raises(UserError, match="--vocab intersect"):
                    METHODS["draft"].proposer(pair, {})
            else:
                proposer = METHODS["draft"].proposer(pair, {"vocab": vocab})
                assert isinstance(proposer, OtherVocab)
    run, rounds = decode(pair.target, proposer, REPEATING)
    check.run(run, rounds, len(REPEATING))
    assert emitted(rounds) == tiny.greedy(pair.target.model, REPEATING, 16) and any(r.drafted for r in rounds)
    with pytest.raises(UserError, match="--tree"):
        METHODS["draft"].proposer(pair, {"vocab": "intersect", "tree": "2x2"})
    pair = load.load(target=str(to), draft=str(same), dtype="float32", device="cpu")
    assert isinstance(METHODS["draft"].proposer(pair, {"vocab": "intersect"}), DraftModel)
    pair = load.load(target=str(to), draft=str(strange), dtype="float32", device="cpu")
    with pytest.raises(UserError, match="shares 0 of 20"):
        METHODS["draft"].proposer(pair, {"vocab": "intersect"})


def test_every_shared_id_goes_to_the_draft_and_back():
    proposer = DRAFTS["other"](tiny.target())
    chain = SharedChain(proposer.model, proposer.rows, proposer.ids, SamplingContext(Sampling(), 20, torch.float64), 1)
    assert torch.equal(chain.to_draft(proposer.ids), proposer.rows)
