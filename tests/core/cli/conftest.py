import pytest

from tests.core import tiny
from tests.core.cli.called import VOCAB

TEMPLATE = "{% for m in messages %}<|user|>{{ m['role'] }}:{{ m['content'] }}\n{% endfor %}{% if add_generation_prompt %}A:{% endif %}"


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    """Folders: a target with a tokenizer, drafts for it, a bare target and a draft for that."""
    root = tmp_path_factory.mktemp("models")
    tiny.checkpoint(root / "target", 0, tiny.tokenizer(), **VOCAB)
    (root / "target" / "chat_template.jinja").write_text(TEMPLATE)
    tiny.checkpoint(root / "draft", 7, tiny.tokenizer(), num_layers=1, **VOCAB)
    tiny.checkpoint(root / "same", 0, tiny.tokenizer(), **VOCAB)
    tiny.checkpoint(root / "bare")
    tiny.checkpoint(root / "bare draft", 7)
    return root
