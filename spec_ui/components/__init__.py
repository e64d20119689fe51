"""Parts that the tabs are made of: Gradio components with fixed templates, drawn by assets/js."""
