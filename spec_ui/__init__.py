"""The page: draws Traces and never touches a tensor. Nothing here imports torch or transformers."""

import os

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"  # before the first import of gradio, which reads it once
