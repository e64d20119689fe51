"""Which files of a Hub repository are fetched, by the names that such repositories hold."""
from __future__ import annotations

import pytest
from huggingface_hub.utils import filter_repo_objects

from core.checkpoints.resolve import HUB_FILES, HUB_NOT

OTHER = {".gitattributes", "README.md", "LICENSE", "original/consolidated.00.pth", "consolidated.safetensors", "tf_model.h5", "flax_model.msgpack",
         "model.onnx", "pytorch_model.ot"}
REPOSITORIES = {
    "gpt2": ["config.json", "generation_config.json", "merges.txt", "vocab.json", "model.safetensors"],
    "Qwen2.5": ["config.json", "generation_config.json", "merges.txt", "model-00001-of-00002.safetensors", "model.safetensors.index.json",
                "tokenizer_config.json", "vocab.json"],
    "Qwen": ["config.json", "qwen.tiktoken", "tokenizer_config.json", "model-00001-of-00008.safetensors"],
    "Llama-2": ["config.json", "pytorch_model-00001-of-00002.bin", "pytorch_model.bin.index.json", "special_tokens_map.json", "tokenizer.model",
                "tokenizer_config.json"],
    "T5's SentencePiece": ["config.json", "spiece.model", "model.safetensors"],
    "BERT's WordPiece": ["config.json", "vocab.txt", "tokenizer_config.json", "model.safetensors"],
    "gpt-oss": ["config.json", "chat_template.jinja", "tokenizer.json", "model-00000-of-00002.safetensors"],
    "Medusa": ["config.json", "medusa_lm_head.pt"],
}


@pytest.mark.parametrize("repository", REPOSITORIES)
def test_all_that_a_model_needs_is_fetched_and_nothing_else(repository):
    needed = REPOSITORIES[repository]
    got = list(filter_repo_objects([*needed, *sorted(OTHER)], allow_patterns=HUB_FILES, ignore_patterns=HUB_NOT))
    assert got == needed
