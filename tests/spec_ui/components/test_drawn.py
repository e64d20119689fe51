"""What all drawn components share: constant templates, values as they are, and what the browser sends back."""

import pytest

from spec_ui.components.drawn import Drawn
from spec_ui.components.explain import Explain, Lesson
from spec_ui.components.method_settings import MethodSettings
from spec_ui.components.notice import Notice
from spec_ui.components.player import TracePlayer

KINDS = {kind: kind for kind in (Explain, Lesson, MethodSettings, Notice)} | {TracePlayer: lambda value="": TracePlayer(value, runs=[], prompts={})}
HOSTILE = "<script>1</script>${x}{{y}}"


def test_no_kind_is_forgotten():
    assert set(Drawn.__subclasses__()) == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_a_value_never_becomes_part_of_the_template(kind, recwarn):
    part = KINDS[kind](HOSTILE)
    props = part.get_config()
    assert props["html_template"] == kind.TEMPLATE and not set("${") & set(props["html_template"])
    assert props["js_on_load"].startswith("window.Specscope.gradio") and HOSTILE not in props["js_on_load"]
    assert part.value == part.postprocess(HOSTILE) == HOSTILE and part.postprocess(None) == part.postprocess("") == kind.EMPTY
    assert not recwarn.list, "Gradio would warn of the markup"
    assert part.api_info() == {"type": "string", "description": kind.VALUE} and kind.VALUE


@pytest.mark.parametrize("kind", KINDS)
def test_only_an_input_listens_to_the_browser(kind):
    for sent in ("text", 7, None, ["x"], {"a": 1}):
        assert KINDS[kind]().preprocess(sent) == (sent if kind in (Notice, MethodSettings) else "")
