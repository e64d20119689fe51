"""The decode loop: identical to plain decoding, a cache that always agrees with a fresh forward, and every way of stopping."""
from __future__ import annotations

import itertools

import pytest
import torch

from core import stats
from core.errors import EnvironmentFailure, UserError
from core.loop import Decoding, Options
from core.probs import Sampling
from core.propose.base import Draft, Proposer
from core.propose.draft_model import DraftModel
from tests.core import check, tiny
from tests.core.tiny import DRAFTS, F32, F64, PROMPT, decode, emitted

pytestmark = pytest.mark.usefixtures("runner")
LENGTHS = [1, 2, 3, 4, 7]
SAMPLINGS = {"T=1": Sampling(1.0), "k,p,min": Sampling(0.8, 12, 0.9, 0.02), "penalty": Sampling(1.2, repetition_penalty=1.5)}


@pytest.fixture(scope="module", params=[F64, F32], ids=["float64", "float32"])
def to(request):
    return tiny.target(dtype=request.param)


@pytest.mark.parametrize("draft_len", LENGTHS)
@pytest.mark.parametrize("name", DRAFTS)
def test_greedy_output_is_that_of_plain_decoding(to, name, draft_len):
    run, rounds = decode(to, DRAFTS[name](to.model), draft_len=draft_len)
    check.run(run, rounds, len(PROMPT))
    assert emitted(rounds) == tiny.greedy(to.model, PROMPT, 16)


def test_plain_is_the_same_loop_with_no_draft(to):
    run, rounds = decode(to, Proposer())
    check.run(run, rounds, len(PROMPT))
    assert emitted(rounds) == tiny.greedy(to.model, PROMPT, 16) and len(rounds) == 16
    assert {e.kind for r in rounds for e in r.emitted} == {"plain"}


@pytest.mark.parametrize("prompt", [[1, 1, 1], [7], list(range(20))])
def test_the_first_drafted_token_is_verified_too(to, prompt):
    """Trap 13."""
    _, rounds = decode(to, tiny.always_wrong(to.model), prompt)
    assert emitted(rounds) == tiny.greedy(to.model, prompt, 16)
    assert all(d.verdict != "accepted" for r in rounds for d in r.drafted)


@pytest.mark.parametrize("penalty", [1e9, 1.3, 0.5])
@pytest.mark.parametrize("name", DRAFTS)
def test_greedy_with_a_penalty_looks_at_each_positions_own_prefix(name, penalty):
    """Trap 12: drafted tokens before a position count as its prefix."""
    to, sampling = tiny.target(), Sampling(repetition_penalty=penalty)
    run, rounds = decode(to, DRAFTS[name](to.model), sampling=sampling)
    check.run(run, rounds, len(PROMPT))
    tokens = list(PROMPT)
    for token in emitted(rounds):
        assert token == int(tiny.law_after(to.model, tokens, sampling).argmax())
        tokens.append(token)
    if penalty == 1e9:
        assert len(set(tokens[len(PROMPT):])) >= 15


@pytest.mark.parametrize("sampling", [Sampling(), *SAMPLINGS.values()], ids=["greedy", *SAMPLINGS])
@pytest.mark.parametrize("draft_len", LENGTHS)
def test_a_perfect_draft_is_accepted_in_every_round(sampling, draft_len):
    """Trap 14: also after a fully accepted draft, whose last token the draft has not read yet."""
    to = tiny.target()
    run, rounds = decode(to, DraftModel(to.model), draft_len=draft_len, sampling=sampling, max_new_tokens=23, seed=5)
    check.run(run, rounds, len(PROMPT))
    for r in rounds[1:]:
        assert [d.verdict for d in r.drafted] == ["accepted"] * r.draft_len
        assert [d.threshold for d in r.drafted] == pytest.approx([1.0] * r.draft_len, abs=1e-9)
    assert len(rounds) == 1 + -(-22 // (draft_len + 1))


@pytest.mark.parametrize("dtype", [F64, F32])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 4])
def test_after_each_round_the_cache_agrees_with_a_fresh_forward(n, dtype):
    """Trap 15, for 0, 1, ... k accepted tokens."""
    to = tiny.target(dtype=dtype)
    run = Decoding(to, tiny.right_for(to.model, n), PROMPT, Options(24, 4))
    for r in run:
        if r.index and r.draft_len == 4:
            assert sum(d.verdict == "accepted" for d in r.drafted) == n
        if run.stop is None:
            assert run.ctx.cache.length == len(run.tokens) - 1
            agree(to.model, run.ctx.cache, run.tokens)
    assert run.new_tokens == tiny.greedy(to.model, PROMPT, 24)


@pytest.mark.parametrize("dtype", [F64, F32])
@pytest.mark.parametrize("sampling", [Sampling(), Sampling(1.0)], ids=["greedy", "T=1"])
def test_after_each_round_the_drafts_cache_agrees_too(sampling, dtype):
    to, counts = tiny.target(dtype=dtype), set()
    for seed in range(6):
        draft = tiny.near_model(to.model, 0.3)
        run = Decoding(to, draft, [seed, *PROMPT], Options(24, 3, sampling, seed))
        for r in run:
            counts.add(sum(d.verdict == "accepted" for d in r.drafted))
            if run.stop is None:
                agree(to.model, run.ctx.cache, run.tokens)
                agree(draft.model, draft.cache, run.tokens)
    assert counts == {0, 1, 2, 3}


def agree(model, cache, tokens):
    assert cache.length <= len(tokens) - 1
    length = cache.length
    with torch.inference_mode():
        got = model(torch.tensor([tokens[length:]]), cache)[0, -1]
    cache.truncate(length)
    torch.testing.assert_close(got, tiny.logits_after(model, tokens), rtol=0, atol=1e-9 if got.dtype == F64 else 1e-4)


@pytest.mark.parametrize("max_new", [0, 1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("name", ["perfect", "wrong", "near"])
def test_exactly_max_new_tokens(name, max_new):
    """Trap 22, with a draft length of 4."""
    to = tiny.target()
    run, rounds = decode(to, DRAFTS[name](to.model), max_new_tokens=max_new)
    check.run(run, rounds, len(PROMPT))
    assert emitted(rounds) == tiny.greedy(to.model, PROMPT, max_new) and run.stop == "length"


@pytest.mark.parametrize("spare", [-3, 0, 1, 50])
@pytest.mark.parametrize("name", ["perfect", "scripted", "wrong"])
def test_a_full_context_ends_the_run(name, spare):
    """Trap 18: prompt + max_new == context exactly, and beyond it."""
    to = tiny.target(max_positions=24)
    run, rounds = decode(to, DRAFTS[name](to.model), max_new_tokens=19 + spare)
    check.run(run, rounds, len(PROMPT))
    assert run.stop == "length" and emitted(rounds) == tiny.greedy(to.model, PROMPT, min(19, 19 + spare))


def test_a_draft_with_a_shorter_context_stops_drafting_there():
    to = tiny.target()
    run, rounds = decode(to, DraftModel(tiny.decoder(0, max_positions=16)), max_new_tokens=30)
    check.run(run, rounds, len(PROMPT))
    assert emitted(rounds) == tiny.greedy(to.model, PROMPT, 30)
    assert all(r.drafted for r in rounds[1:3]) and not rounds[-1].drafted


def test_a_prompt_longer_than_one_prefill_pass():
    to = tiny.target(max_positions=1400)
    prompt = [(7 * i * i + i) % 20 for i in range(1100)]
    run, rounds = decode(to, DraftModel(to.model), prompt, max_new_tokens=8)
    check.run(run, rounds, len(prompt))
    assert emitted(rounds) == tiny.greedy(to.model, prompt, 8)
    assert all(d.verdict == "accepted" for r in rounds for d in r.drafted)


# -- stopping ----------------------------------------------------------------------------------------------------------------------


def cut_at(ids: list[int], eos: int) -> list[int]:
    return ids[:ids.index(eos) + 1] if eos in ids else ids


@pytest.mark.parametrize("name", ["perfect", "scripted", "wrong", "near"])
@pytest.mark.parametrize("at", range(10))
def test_eos_at_every_position_of_a_block(name, at):
    """Trap 21: run greedily, then declare an emitted token the end."""
    plain = tiny.greedy(tiny.decoder(), PROMPT, 16)
    eos = plain[at]
    to = tiny.target(eos=(eos,))
    run, rounds = decode(to, DRAFTS[name](to.model))
    check.run(run, rounds, len(PROMPT))
    assert emitted(rounds) == cut_at(plain, eos) and run.stop == "eos"
    assert all(d.id != eos or d.verdict != "accepted" for r in rounds for d in r.drafted[:-1]), "nothing is kept behind EOS"


def test_tokens_drafted_behind_eos_leave_every_count():
    plain = tiny.greedy(tiny.decoder(), PROMPT, 16)
    at = next(i for i in range(2, 5) if plain[i] not in plain[:i])
    to = tiny.target(eos=(plain[at],))
    run, rounds = decode(to, tiny.perfect(to.model), draft_len=7)
    assert [d.id for d in rounds[1].drafted] == plain[1:at + 1]
    totals = stats.totals(rounds, "", run.stop, None)
    assert (totals.drafted, totals.accepted, totals.tested, totals.new_tokens) == (at, at, at, at + 1)
    assert totals.acceptance_by_position == [1.0] * at


def test_a_rejected_eos_does_not_end_the_run():
    plain = tiny.greedy(tiny.decoder(), PROMPT, 16)
    eos = next(i for i in range(20) if i not in plain)
    run, rounds = decode(tiny.target(eos=(eos,)), tiny.Scripted(lambda tokens: eos))
    check.run(run, rounds, len(PROMPT))
    assert emitted(rounds) == plain and run.stop == "length"


def test_ignore_eos_goes_on():
    plain = tiny.greedy(tiny.decoder(), PROMPT, 16)
    run, rounds = decode(tiny.target(eos=tuple(range(20))), Proposer(), ignore_eos=True)
    assert emitted(rounds) == plain and run.stop == "length"


def test_several_end_tokens():
    plain = tiny.greedy(tiny.decoder(), PROMPT, 16)
    first = min(plain.index(plain[4]), plain.index(plain[9]))
    run, rounds = decode(tiny.target(eos=(plain[9], plain[4])), DraftModel(tiny.decoder()))
    assert emitted(rounds) == plain[:first + 1] and run.stop == "eos"


class Letters:
    """A fake tokenizer of bytes: id -> bytes."""

    size = 20

    def __init__(self, pieces: dict[int, bytes]) -> None:
        self.pieces = pieces

    def bytes(self, token: int) -> bytes:
        return self.pieces.get(token, bytes([97 + token]))

    def piece(self, token: int) -> str:
        return self.bytes(token).decode("utf-8", "backslashreplace")

    def decode(self, tokens) -> str:
        return b"".join(map(self.bytes, tokens)).decode("utf-8", "replace")


@pytest.mark.parametrize("name", ["perfect", "scripted", "near", "wrong"])
@pytest.mark.parametrize(("first", "length"), [(0, 1), (0, 2), (1, 2), (2, 4), (4, 3), (5, 2), (3, 9)])
def test_stop_strings_across_block_edges(name, first, length):
    """Trap 23: within accepted tokens, over accepted and bonus, over several rounds; exactly the tokens up to its end are emitted."""
    to, text = tiny.target(), Letters({})
    plain = tiny.greedy(to.model, PROMPT, 16)
    stop = text.decode(plain[first:first + length])
    whole = text.decode(plain)
    end = whole.index(stop) + len(stop)
    run, rounds = decode(to, DRAFTS[name](to.model), text=text, stop=("never", stop))
    check.run(run, rounds, len(PROMPT))
    assert run.stop == "stop_string" and emitted(rounds) == plain[:end]
    assert run.output_text == whole[:whole.index(stop)]


def test_the_earliest_stop_string_cuts_the_text():
    to, text = tiny.target(), Letters({})
    plain = tiny.greedy(to.model, PROMPT, 16)
    letters = text.decode(plain)
    run, _ = decode(to, DraftModel(to.model), text=text, stop=(letters[3], letters[2:4]))
    assert run.output_text == letters[:min(letters.index(letters[3]), 2)]


def test_a_character_split_over_two_tokens():
    """Its halves fall on both sides of a block edge for some draft length; the text is whole, and a stop string in it is seen."""
    to = tiny.target()
    plain = tiny.greedy(to.model, PROMPT, 16)
    at = next(i for i in range(3, 15) if plain[i] != plain[i + 1] and plain.index(plain[i]) == i and plain[i + 1] not in plain[:i + 1])
    emoji = "\N{SEEDLING}".encode()
    text = Letters({plain[at]: emoji[:2], plain[at + 1]: emoji[2:]})
    for draft_len in LENGTHS:
        run, rounds = decode(to, DraftModel(to.model), text=text, stop=("\N{SEEDLING}",), draft_len=draft_len)
        check.run(run, rounds, len(PROMPT))
        assert run.stop == "stop_string" and len(emitted(rounds)) == at + 2
        assert "\ufffd" not in run.output_text and run.output_text == text.decode(plain[:at])


def test_stop_strings_are_heeded_while_eos_is_ignored():
    to, text = tiny.target(eos=tuple(range(20))), Letters({})
    plain = tiny.greedy(to.model, PROMPT, 16)
    run, rounds = decode(to, Proposer(), text=text, stop=(text.decode(plain[3:5]),), ignore_eos=True)
    assert run.stop == "stop_string" and len(emitted(rounds)) <= 5


# -- sampling, seeds, state --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sampling", SAMPLINGS.values(), ids=SAMPLINGS)
@pytest.mark.parametrize(("name", "dtype"), [*itertools.product(DRAFTS, [F64, F32])])
def test_every_sampled_round_holds_what_it_claims(name, dtype, sampling):
    to = tiny.target(dtype=dtype)
    for seed in range(3):
        run, rounds = decode(to, DRAFTS[name](to.model), sampling=sampling, seed=seed, draft_len=3, max_new_tokens=12)
        check.run(run, rounds, len(PROMPT))
        laws_are_right(to, rounds, sampling)


def laws_are_right(to, rounds, sampling):
    """Recorded p of every drafted token = the target's law behind its own prefix, by a fresh forward."""
    tokens = list(PROMPT)
    for r in rounds:
        prefix = list(tokens)
        for d in r.drafted:
            law = tiny.law_after(to.model, prefix, sampling)
            assert d.p == pytest.approx(float(law[d.id]), abs=1e-9 if law.dtype == F64 else 1e-4)
            prefix.append(d.id)
        tokens += [e.id for e in r.emitted]


@pytest.mark.parametrize("name", DRAFTS)
@pytest.mark.parametrize("seed", [0, 1, 2 ** 63 - 1])
def test_a_seed_repeats_its_run_also_with_the_same_proposer(name, seed):
    """Traps 30 and 31: nothing of a run leaks into the next one."""
    to, options = tiny.target(), {"sampling": SAMPLINGS["penalty"], "seed": seed, "max_new_tokens": 24}
    proposer = DRAFTS[name](to.model)
    first, again = decode(to, proposer, **options)[1], decode(to, proposer, **options)[1]
    fresh = decode(to, DRAFTS[name](to.model), **options)[1]
    assert facts(first) == facts(again) == facts(fresh)


def facts(rounds):
    return [(r.draft_len, [vars(d) for d in r.drafted], [vars(e) for e in r.emitted], [vars(t) for t in r.tables]) for r in rounds]


def test_seeds_differ_and_uniforms_do_not_repeat():
    """Trap 30."""
    to, seen, outputs = tiny.target(), [], set()
    for seed in range(6):
        _, rounds = decode(to, tiny.other_model(to.model), sampling=Sampling(1.5), seed=seed, max_new_tokens=30)
        seen += [d.u for r in rounds for d in r.drafted]
        outputs.add(tuple(emitted(rounds)))
    assert len(set(seen)) == len(seen) and len(outputs) == 6
    assert 0.35 < sum(seen) / len(seen) < 0.65


@pytest.mark.parametrize("name", DRAFTS)
@pytest.mark.parametrize("sampling", [Sampling(), Sampling(1.0), SAMPLINGS["penalty"]], ids=["greedy", "T=1", "penalty"])
def test_recording_changes_no_token(name, sampling):
    to = tiny.target()
    (_, with_tables), (run, without) = (decode(to, DRAFTS[name](to.model), sampling=sampling, record=r, seed=3) for r in (True, False))
    check.run(run, without, len(PROMPT))
    assert [f[:3] for f in facts(with_tables)] == [f[:3] for f in facts(without)]


@pytest.mark.parametrize("after", [1, 2, 3])
def test_closing_the_iterator_ends_the_run_and_frees_the_caches(after):
    to = tiny.target()
    proposer = DraftModel(to.model)
    run = Decoding(to, proposer, PROMPT, Options(32, 2))
    rounds = iter(run)
    for _ in range(after):
        next(rounds)
    rounds.close()
    assert run.stop == "cancelled" and run.ctx.cache is None and proposer.cache is None
    assert list(run) == [] and run.stop == "cancelled"


@pytest.mark.parametrize("name", DRAFTS)
def test_a_run_that_ends_by_itself_frees_the_caches(name):
    to = tiny.target()
    run, _ = decode(to, DRAFTS[name](to.model))
    assert run.ctx.cache is None and getattr(run.proposer, "cache", None) is None


def test_a_failing_proposer_frees_the_caches_and_leaves_the_model_alone():
    """Trap 32."""
    to, before = tiny.target(), tiny.greedy(tiny.decoder(), PROMPT, 5)

    class Failing(tiny.Scripted):
        def propose(self, ctx, k):
            if len(self.asked) == 2:
                raise RuntimeError("no")
            return super().propose(ctx, k)

    run = Decoding(to, Failing(lambda t: 0), PROMPT, Options(32, 2))
    with pytest.raises(RuntimeError, match="no"):
        list(run)
    assert run.stop == "cancelled" and run.ctx.cache is None
    assert emitted(decode(to, Proposer(), max_new_tokens=5)[1]) == before


# -- requests that cannot run, drafts that are odd ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("prompt", "said"), [([], "empty"), ([20], "20"), ([-1], "-1"), ([3, 10 ** 30], "vocabulary"), ([1] * 64, "64"),
                                              ([1] * 99, "99")])
def test_prompts_that_cannot_run(prompt, said):
    with pytest.raises(UserError, match=said):
        Decoding(tiny.target(), Proposer(), prompt, Options())


@pytest.mark.parametrize(("bad", "said"), [
    ({"max_new_tokens": -1}, "max-new-tokens"), ({"draft_len": -1}, "draft-len"), ({"draft_len": 1.5}, "draft-len"), ({"stop": ("a", "")}, "stop"),
    ({"seed": -1}, "seed"), ({"seed": 2 ** 63}, "seed")])
def test_options_out_of_range(bad, said):
    with pytest.raises(UserError, match="--" + said):
        Options(**bad)


@pytest.mark.parametrize("most", [0, 1, 2])
def test_drafts_shorter_than_asked(most):
    to = tiny.target()
    script = tiny.Scripted(tiny.perfect(to.model).choose, most)
    run, rounds = decode(to, script, draft_len=5)
    check.run(run, rounds, len(PROMPT))
    assert emitted(rounds) == tiny.greedy(to.model, PROMPT, 16)
    assert max(len(r.drafted) for r in rounds) == most


def test_an_empty_draft_is_plain_decoding():
    class Empty(Proposer):
        def propose(self, ctx, k):
            return Draft(torch.empty(0, dtype=torch.long))
    run, rounds = decode(tiny.target(), Empty())
    check.run(run, rounds, len(PROMPT))
    assert {e.kind for r in rounds for e in r.emitted} == {"plain"}


@pytest.mark.parametrize("logits", [True, False])
def test_a_draft_may_leave_out_its_logits(logits):
    class Bare(tiny.Uniform):
        def propose(self, ctx, k):
            draft = super().propose(ctx, k)
            return Draft(draft.tokens, draft.q, draft.logits if logits else None)
    run, rounds = decode(tiny.target(), Bare(), sampling=Sampling(1.0))
    check.run(run, rounds, len(PROMPT))
    assert any(t.logit_q for r in rounds for t in r.tables) == logits


@pytest.mark.parametrize("size", [2, 3, 4, 5, 9, 11])
@pytest.mark.parametrize("sampling", [Sampling(), Sampling(1.0)], ids=["greedy", "T=1"])
def test_vocabularies_smaller_than_a_table(size, sampling):
    to = tiny.target(vocab_size=size) if size == 20 else tiny.DecoderTarget(tiny.decoder(vocab_size=size), None, ())
    run, rounds = decode(to, tiny.other_model(to.model), [0, 1], sampling=sampling)
    check.run(run, rounds, 2)
    assert all(len(t.ids) == size for r in rounds for t in r.tables if size <= 9)


def test_nothing_waits_for_the_device_more_than_once_a_round():
    from core import transfer
    to, before = tiny.target(), transfer.waits
    _, rounds = decode(to, DraftModel(to.model), sampling=SAMPLINGS["penalty"])
    assert transfer.waits - before == len(rounds)


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(1.0)], ids=["greedy", "T=1"])
def test_logits_that_are_no_numbers_end_in_one_sentence(sampling):
    to, broken = tiny.target(), tiny.target()
    broken.model.final_norm.data.fill_(float("nan"))
    with pytest.raises(EnvironmentFailure, match=r"target.*--dtype"):
        decode(broken, Proposer(), sampling=sampling)
    if not sampling.greedy:
        with pytest.raises(EnvironmentFailure, match=r"draft.*--dtype"):
            decode(to, DraftModel(broken.model), sampling=sampling)
