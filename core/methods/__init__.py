"""One file a method of drafting, and the registry that names them all."""
