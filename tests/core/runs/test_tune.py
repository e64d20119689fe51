"""`tune` on tiny targets: every candidate runs, rows are sorted, and the printed flags are those of the candidate."""
import pytest

from core.checkpoints.load import Pair
from core.decoding.loop import Options
from core.errors import UserError
from core.models.target import DecoderTarget
from core.models.text import NoText
from core.runs import tune
from core.runs.runner import Request, Run
from tests.core import tiny


class Ids(NoText):
    def chat(self, prompt, system):
        return [1, 2, 3]


@pytest.fixture
def pair():
    return Pair("tiny", "tiny", DecoderTarget(tiny.decoder(num_layers=6, max_positions=128)), Ids())


def test_layer_sets_are_valid_for_any_depth():
    for layers in (2, 3, 6, 30):
        for candidate in tune.layer_sets(layers):
            from core.methods.early_exit import draft_layers
            assert 0 < len(draft_layers(layers, candidate.get("exit_layer", "0.7"), candidate.get("skip_layers", ""))) < layers


@pytest.mark.parametrize("method", ["early-exit", "lookup"])
def test_rows_are_sorted_and_cover_every_candidate(pair, method):
    result = tune.tune(pair, method, ["a", "b"], 12)
    ratios = [r["ratio"] for r in result["rows"]]
    assert ratios == sorted(ratios, reverse=True) and len(ratios) == len(tune.candidates(method, 6))
    assert all(r["tokens_per_round"] == 0 or r["tokens_per_round"] >= 1 for r in result["rows"])
    text = tune.table(result)
    assert all(r["flags"] in text for r in result["rows"]) and ("Best here" in text or "does not pay" in text)


def test_the_words_follow_the_figures():
    row = {"flags": "--exit-layer 3", "ratio": 0.8, "agreement": 0.2, "tokens_per_round": 1.2}
    result = {"method": "early-exit", "rows": [row]}
    assert "does not pay" in tune.table(result)
    assert "Best here: --exit-layer 3 at 1.20x" in tune.table({**result, "rows": [{**row, "ratio": 1.2}]})


def test_candidates_are_settings_the_method_takes(pair):
    for settings, k in tune.candidates("early-exit", 6):
        run = Run(pair, Request(prompt_ids=(1, 2), method="early-exit", settings=settings, options=Options(4, k, ignore_eos=True)), {})
        assert len(list(run.rounds())) >= 1


def test_an_unknown_method_is_refused(pair):
    with pytest.raises(UserError, match="no method"):
        tune.tune(pair, "nonsense", ["a"], 4)


def test_repeats_of_a_comparison_do_not_teach_suffix_the_output(pair):
    """Otherwise the repeats of a measurement, which decode the same prompt, would be faster than any real use."""
    from core.runs.compare import compare
    request = Request(prompt_ids=(1, 2, 3), method="suffix", options=Options(24, 4))
    once = compare(pair, request, ["suffix"], repeats=1)["results"][0]["totals"]
    often = compare(pair, request, ["suffix"], repeats=3)["results"][0]["totals"]
    assert once["rounds"] == often["rounds"]
