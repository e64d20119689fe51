"""The ids that end a run are those of `model.generation_config`, whatever file they stand in; what is no id is refused."""
from __future__ import annotations

import json

import pytest
import torch
import transformers as hf

from core.checkpoints import load
from core.errors import UserError
from tests.core import tiny

TEXT = {"vocab_size": 320, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
        "head_dim": 8, "sliding_window": 8, "layer_types": ["sliding_attention", "full_attention"]}
VISION = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "image_size": 28, "patch_size": 14}
ABSENT = "absent"


def ends(folder) -> tuple[int, ...]:
    return load.load(target=str(folder), dtype="float32", device="cpu").target.eos_ids


def of_transformers(folder) -> tuple[int, ...]:
    eos = hf.AutoModelForCausalLM.from_pretrained(folder).generation_config.eos_token_id
    return tuple(eos if isinstance(eos, list) else [] if eos is None else [eos])


def put(folder, name: str, eos: object) -> None:
    """eos_token_id into one file; ABSENT takes the key out."""
    file = folder / name
    data = json.loads(file.read_text()) if file.exists() else {}
    file.write_text(json.dumps({k: v for k, v in (data | {"eos_token_id": eos}).items() if v != ABSENT}))


@pytest.fixture(scope="module", params=["llama", "gpt2"])
def folder(request, tmp_path_factory):
    """Our own decoder's, and one that transformers runs."""
    at = tmp_path_factory.mktemp(request.param)
    if request.param == "llama":
        return tiny.checkpoint(at)
    torch.manual_seed(0)
    hf.GPT2LMHeadModel(hf.GPT2Config(vocab_size=20, n_embd=32, n_layer=2, n_head=4, n_positions=64, bos_token_id=None, eos_token_id=None,
                                     tie_word_embeddings=False)).save_pretrained(at)
    return at


@pytest.mark.parametrize("generation", [None, ABSENT, "null", 5, [5, 6], []], ids=str)
@pytest.mark.parametrize("config", [ABSENT, None, 7, [7, 8], []], ids=str)
def test_generation_config_decides_where_there_is_one(folder, generation, config):
    """generation: None = no such file. One without the key means that nothing ends a run, whatever config.json says."""
    (folder / "generation_config.json").unlink(missing_ok=True)
    put(folder, "config.json", config)
    if generation is not None:
        put(folder, "generation_config.json", None if generation == "null" else generation)
    assert ends(folder) == of_transformers(folder)


@pytest.mark.parametrize("name", ["config.json", "generation_config.json"])
@pytest.mark.parametrize("eos", ["7", [[7]], -1, True, "</s>", 2.0, [2, None], {"id": 2}, 10 ** 400], ids=lambda eos: str(eos)[:8])
def test_what_is_no_token_id_is_refused(folder, name, eos):
    put(folder, "config.json", None)
    put(folder, "generation_config.json", None)
    if name == "config.json":
        (folder / "generation_config.json").unlink()
    put(folder, name, eos)
    with pytest.raises(UserError, match="eos_token_id") as caught:
        ends(folder)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 500


@pytest.fixture(scope="module")
def composite(tmp_path_factory):
    torch.manual_seed(0)
    at = tmp_path_factory.mktemp("gemma3")
    config = hf.Gemma3Config(text_config=TEXT, vision_config=VISION, mm_tokens_per_image=4, image_token_index=319)
    hf.Gemma3ForConditionalGeneration(config).save_pretrained(at)
    (at / "generation_config.json").unlink(missing_ok=True)
    return at


@pytest.mark.parametrize(("top", "text", "want"), [([1, 106], ABSENT, (1, 106)), ([1, 106], None, (1, 106)), (106, 1, (106,)), (None, 9, (9,)),
                                                   (ABSENT, [3, 9], (3, 9))], ids=str)
def test_a_composite_config_has_them_beside_its_text_part_or_in_it(composite, top, text, want):
    put(composite, "config.json", top)
    data = json.loads((composite / "config.json").read_text())
    data["text_config"] = {k: v for k, v in (data["text_config"] | {"eos_token_id": text}).items() if v != ABSENT}
    (composite / "config.json").write_text(json.dumps(data))
    assert ends(composite) == of_transformers(composite) == want
