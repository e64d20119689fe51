"""Root mean square norm (Zhang and Sennrich 2019)."""
from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

SIGNS = torch.tensor([[1.0], [-1.0]])


def rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """x / sqrt(mean(x^2) + eps) * weight over the last dimension. With a doubled weight it takes two operators on a CPU instead of ten: the
    layer norm of [x, -x], whose mean is 0 and whose variance is mean(x^2)."""
    doubled = getattr(weight, "doubled", None)
    if doubled is None:
        return F.rms_norm(x, weight.shape, weight, eps)
    return F.layer_norm((x.unsqueeze(-2) * SIGNS).flatten(-2), doubled.shape, doubled, None, eps)[..., :weight.shape[0]]


def double_norms(model: nn.Module) -> None:
    """Give all norms of a float32 model on a CPU the weight that `rms_norm` is fast with. Inference only."""
    for name, weight in model.named_parameters():
        if weight.ndim == 1 and "norm" in name and weight.dtype == torch.float32:
            weight.doubled = torch.cat([weight.detach(), torch.zeros_like(weight)])
