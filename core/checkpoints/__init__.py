"""A name becomes a model: a folder, a Hub id, a GGUF file or the embedded target, read strictly and loaded onto a device."""
