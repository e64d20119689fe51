"""Parts that the tabs are made of: Gradio components with constant templates, drawn by assets/js, and inputs that the server checks."""
