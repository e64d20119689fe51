"""Published draft heads: told apart by what is in their folders, read strictly, refused with the reason."""
from core.checkpoints.formats import eagle, medusa
from core.checkpoints.formats.files import weight_files
from core.checkpoints.formats.sniff import METHOD_OF, method_of, sniff

__all__ = ["METHOD_OF", "eagle", "medusa", "method_of", "sniff", "weight_files"]
