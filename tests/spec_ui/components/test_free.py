"""Inputs whose bounds are checked by us: Gradio's check is off, and Gradio's own component draws them."""

import gradio as gr
import pytest

from spec_ui.components.free import FreeCheckbox, FreeNumber, FreeRadio, FreeSlider


@pytest.mark.parametrize("kind, of", [(FreeSlider, gr.Slider), (FreeRadio, gr.Radio), (FreeCheckbox, gr.Checkbox), (FreeNumber, gr.Number)])
def test_what_the_browser_sent_comes_through_and_gradio_draws_it(kind, of):
    part = kind()
    for sent in (10**9, "none of the choices", None, ["x"]):
        assert part.preprocess(sent) == sent
    assert part.get_block_name() == of().get_block_name()
