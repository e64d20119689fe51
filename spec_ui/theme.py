"""Gradio's theme in the page's colours, with the system's fonts. The rest of the look is in assets/css."""

import gradio as gr

SANS = ["Inter", "system-ui", "-apple-system", "Segoe UI", "Noto Sans", "sans-serif"]
MONO = ["ui-monospace", "SFMono-Regular", "Menlo", "Consolas", "monospace"]

LIGHT = {"bg": "#faf9f6", "card": "#ffffff", "ink": "#1d2330", "soft": "#5f6673", "line": "#e6e3dc", "acc": "#0072b2"}
DARK = {"bg": "#14161a", "card": "#1c1f25", "ink": "#e8e6e1", "soft": "#a0a6b1", "line": "#2f333c", "acc": "#56b4e9"}

_MAP = {
    "body_background_fill": "bg",
    "background_fill_primary": "card",
    "background_fill_secondary": "bg",
    "block_background_fill": "card",
    "body_text_color": "ink",
    "body_text_color_subdued": "soft",
    "block_label_text_color": "soft",
    "block_title_text_color": "soft",
    "block_info_text_color": "soft",
    "border_color_primary": "line",
    "block_border_color": "line",
    "input_border_color": "line",
    "input_background_fill": "card",
    "slider_color": "acc",
}


def theme() -> gr.themes.Base:
    colours = {}
    for name, key in _MAP.items():
        colours[name], colours[f"{name}_dark"] = LIGHT[key], DARK[key]
    return gr.themes.Base(font=SANS, font_mono=MONO, text_size="md", radius_size="lg").set(block_border_width="0px", block_shadow="none", **colours)
