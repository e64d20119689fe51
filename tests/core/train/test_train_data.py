"""Training texts: reading, the held-out split, the vocabulary, generation by the target, the feature cache."""
from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
import torch

from core.errors import UserError
from core.train import cache, data, generate, prompts, vocabulary
from core.train.data import Text
from tests.core import tiny


def some_texts(count: int = 24, seed: int = 0, vocab: int = 20) -> list[Text]:
    rng = torch.Generator().manual_seed(seed)

    def ids(low: int, high: int) -> tuple[int, ...]:
        n = int(torch.randint(low, high, (1,), generator=rng))
        return tuple(torch.randint(0, vocab, (n,), generator=rng).tolist())

    return [Text(ids(2, 5), ids(8, 14)) for _ in range(count)]


def test_reads_plain_and_gzipped_lines(tmp_path: Path) -> None:
    texts = some_texts(3)
    data.write(tmp_path / "a.jsonl", texts)
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress((tmp_path / "a.jsonl").read_bytes()))
    assert data.read(tmp_path / "a.jsonl", 20) == data.read(tmp_path / "a.jsonl.gz", 20) == texts


@pytest.mark.parametrize("line", ["{", "[]", '{"p": [1]}', '{"p": [], "g": [1]}', '{"p": [1], "g": [20]}', '{"p": [1], "g": [-1]}',
                                  '{"p": [1], "g": ["a"]}', '{"p": 1, "g": [1]}', '{"p": [true], "g": [1]}'])
def test_a_bad_line_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "a.jsonl").write_text('{"p": [1], "g": [2]}\n' + line + "\n")
    with pytest.raises(UserError, match="line 2"):
        data.read(tmp_path / "a.jsonl", 20)


def test_an_unreadable_file_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl.gz").write_bytes(b"no gzip")
    (tmp_path / "empty.jsonl").write_text("")
    for name, words in (("a.jsonl.gz", "cannot be read"), ("none.jsonl", "cannot be read"), ("empty.jsonl", "holds no text")):
        with pytest.raises(UserError, match=words):
            data.read(tmp_path / name, 20)


def test_held_out_never_leaks() -> None:
    """All texts of a prompt are on the same side, whatever else is in the data and in which order; a held-out topic is always held out."""
    texts = some_texts(400)
    texts += [Text(t.prompt, (1, 2, 3)) for t in texts[::2]]
    def decode(ids: list[int]) -> str:
        return "about Glaciers" if ids[0] == 7 else "else"

    held = dict(zip(texts, data.split(texts, ["glaciers"], decode)))
    assert data.split(texts[::-1], ["glaciers"], decode) == [held[t] for t in texts[::-1]]
    assert {t.prompt for t in texts if held[t]}.isdisjoint(t.prompt for t in texts if not held[t])
    assert all(held[t] for t in texts if t.prompt[0] == 7)
    others = {t.prompt for t in texts if t.prompt[0] != 7}
    assert 0 < sum(held[t] for t in texts if t.prompt[0] != 7) < len(others) / 4


def test_held_out_topics_are_apart_from_the_others() -> None:
    asset = prompts.load()
    assert not [t for t in asset.topics for h in asset.held_out_topics if h.lower() in t.lower()]
    assert all("{topic}" in t for t in asset.tasks) and all("{passage}" in t for t in asset.passage_tasks)
    chosen = asset.choose(300, seed=0)
    assert len(set(chosen)) == 300 and asset.choose(500, seed=0)[:300] == chosen and asset.choose(300, seed=1) != chosen
    assert len(set(asset.choose(10 ** 6, seed=0))) == len(asset)
    named = [p for p in asset.choose(10 ** 6, seed=0) if any(h in p for h in asset.held_out_topics)]
    assert len(named) >= len(asset.held_out_topics) * len(asset.tasks)


def test_vocabulary_is_the_most_frequent_written_ids() -> None:
    texts = [Text((9, 9, 9), (1, 1, 4, 4, 4, 5))]
    assert vocabulary.choose(texts, 3, 20, always=[17]).tolist() == [1, 4, 17]
    assert vocabulary.choose(texts, 4, 20).tolist() == [0, 1, 4, 5]
    assert vocabulary.choose(texts, 3, 20, among=torch.tensor([0, 5, 6, 7])).tolist() == [0, 5, 6]
    assert len(vocabulary.choose(texts, 99, 20)) == 20


def test_generation_is_the_targets_own_text_and_resumes(tmp_path: Path) -> None:
    """Greedy rows equal plain decoding, EOS ends a row, and an interrupted file is continued to the same bytes."""
    target = tiny.decoder(dtype=tiny.F32)
    asked = [t.prompt for t in some_texts(12)]
    whole, part = tmp_path / "whole.jsonl", tmp_path / "part.jsonl"
    generate.generate(target, asked, whole, [3], seed=5, max_new=9)
    texts = data.read(whole, 20)
    order = [i for group in generate.batches(asked) for i in group]
    assert [t.prompt for t in texts] == [asked[i] for i in order]
    for i, text in zip(order, texts):
        assert 3 not in text.written[:-1] and (len(text.written) == 9 or text.written[-1] == 3)
        if generate.TEMPERATURES[i % 4] == 0:
            assert list(text.written) == tiny.greedy(target, list(text.prompt), 9)[:len(text.written)]
    lines = whole.read_text().splitlines(keepends=True)
    first = len(generate.batches(asked)[0])
    part.write_text("".join(lines[:first + 1])[:-4])     # killed while writing the second batch
    generate.generate(target, asked, part, [3], seed=5, max_new=9)
    assert part.read_text() == whole.read_text()


def filled(folder: Path, texts: list[Text], target: object, aux_layers: tuple[int, ...] = (0, 1)) -> cache.FeatureCache:
    out = cache.FeatureCache(folder, texts, aux_layers, torch.arange(0, 20, 2), target)
    out.fill(target)
    return out


def test_cache_holds_the_features_of_a_plain_forward(tmp_path: Path) -> None:
    target, texts = tiny.decoder(dtype=tiny.F32), some_texts(5)
    made = filled(tmp_path, texts, target)
    for i, text in enumerate(texts):
        a, b, n = int(made.starts[i]), int(made.starts[i + 1]), len(text.prompt)
        assert tuple(made.ids[a:b].tolist()) == text.ids
        with torch.no_grad():
            hidden, by_layer = target.run(torch.tensor([text.ids]), aux_layers=[0, 1])
            logps = target.logits(hidden)[0, n - 1:].log_softmax(-1)
        for k, want in enumerate((by_layer[0], by_layer[1], hidden)):
            torch.testing.assert_close(made.states[a:b, k].float(), want[0], atol=0.02, rtol=0.01)
        assert torch.equal(made.best[a + n - 1:b].long(), logps.argmax(-1))
        top = logps[:, ::2].sort(descending=True)
        assert torch.equal(made.rows[a + n - 1:b, :10].long(), top.indices)
        torch.testing.assert_close(made.logps[a + n - 1:b, :10].float(), top.values, atol=0.01, rtol=0.01)


def test_an_interrupted_cache_is_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "WINDOW", 4)
    target, texts = tiny.decoder(dtype=tiny.F32), some_texts(10)

    class Stop(Exception):
        pass

    calls: list[int] = []

    def stop(tokens: int) -> None:
        calls.append(tokens)
        if len(calls) == 2:
            raise Stop

    with pytest.raises(Stop):
        cache.FeatureCache(tmp_path / "a", texts, (0, 1), torch.arange(0, 20, 2), target).fill(target, stop)
    again = filled(tmp_path / "a", texts, target)
    straight = filled(tmp_path / "b", texts, target)
    assert again.done == 10
    for name in cache.ARRAYS:
        assert torch.equal(getattr(again, name), getattr(straight, name)), name


def test_cache_of_other_texts_or_layers_is_refused(tmp_path: Path) -> None:
    target, texts = tiny.decoder(dtype=tiny.F32), some_texts(4)
    filled(tmp_path, texts, target)
    assert filled(tmp_path, texts, target, aux_layers=(1,)).aux_layers == (0, 1)       # a cache with more layers serves too
    with pytest.raises(UserError, match="other texts"):
        filled(tmp_path, some_texts(4, seed=1), target)
    with pytest.raises(UserError, match="other texts"):
        filled(tmp_path, texts, tiny.decoder(seed=8, dtype=tiny.F32))
    assert json.loads((tmp_path / "meta.json").read_text())["done"] == 4
