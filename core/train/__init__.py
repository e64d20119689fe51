"""`specscope train`: trains draft models, EAGLE-3 heads and Medusa heads for any target, on text that the target itself wrote."""
