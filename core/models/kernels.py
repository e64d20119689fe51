"""CPU kernels of a linear layer: how the weight is kept, who multiplies it, and for how many rows a row's result is its own.

A kernel is row-exact if a pass over k rows gives each row the bits that a pass of that row alone gives. General matrix products are not:
they add in another order for another k. Weight-only kernels add each row by itself; where one takes another path for few rows (FBGEMM
does for 1, 2 and 7 rows under AVX2), rows of zeros are added up to a number for which it does not. Which numbers those are is tried once.
"""
from __future__ import annotations

import functools
from collections.abc import Callable

import torch
from torch import Tensor

GROUP = 32              # weights that share a scale and a minimum in 4 bits, as in GGUF's Q4_0 and Q4_1
ON_GRID = 0.005         # relative error up to which a weight counts as one that was dequantised from 4 bits
MOST_ROWS = 136         # passes over more rows than any round has are not tried (a tree has at most 128 nodes)


class Kernel:
    """y = x W^T + b, weight [out, in] float32. Raises RuntimeError where torch or the shape does not allow it.

    x [..., in] of any dtype is converted to `activations`, which is also y's dtype.
    """

    name: str
    activations: torch.dtype
    row_exact = True
    nbytes: int

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        raise NotImplementedError

    def multiply(self, x: Tensor) -> Tensor:
        """x [k, in] -> [k, out], both in `activations`."""
        raise NotImplementedError

    def __call__(self, x: Tensor) -> Tensor:
        return self.rows(x.reshape(-1, x.shape[-1])).view(*x.shape[:-1], -1)

    def rows(self, x: Tensor) -> Tensor:
        """x [k, in] of any dtype -> [k, out]."""
        k = x.shape[0]
        padded_to = safe_rows(type(self), torch.get_num_threads()).get(k, k) if self.row_exact else k
        if padded_to == k:
            return self.multiply(x.to(self.activations))
        return self.multiply(_padded(x.to(self.activations), padded_to))[:k]


class OneDNN(Kernel):
    """bf16 weights in oneDNN's own order; not row-exact."""

    name, activations, row_exact = "bfloat16", torch.bfloat16, False

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        self.packed = torch.ops.mkldnn._reorder_linear_weight(weight.to(torch.bfloat16), 1)
        self.bias, self.nbytes = None if bias is None else bias.to(torch.bfloat16), 2 * weight.numel()

    def multiply(self, x: Tensor) -> Tensor:
        return torch.ops.mkldnn._linear_pointwise(x, self.packed, self.bias, "none", [], "")


class W16A32(Kernel):
    """float16 weights, float32 activations and sums (FBGEMM)."""

    name, activations = "w16a32", torch.float32

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        if float(weight.abs().max()) > torch.finfo(torch.float16).max:
            raise RuntimeError("a weight is larger than float16 can hold")
        self.packed = torch.ops.quantized.linear_prepack_fp16(weight.float().contiguous(), None if bias is None else bias.float())
        self.nbytes = 2 * weight.numel()

    def multiply(self, x: Tensor) -> Tensor:
        return torch.ops.quantized.linear_dynamic_fp16(x, self.packed)


class W8A16(Kernel):
    """int8 weights with a scale for each output, bf16 activations."""

    name, activations = "w8a16", torch.bfloat16

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        self.scale = (weight.abs().amax(1).float() / 127).clamp_min(1e-12).to(torch.bfloat16)
        self.weight = torch.round(weight.float() / self.scale.float()[:, None]).clamp_(-128, 127).to(torch.int8)
        self.bias, self.nbytes = None if bias is None else bias.to(torch.bfloat16), self.weight.nbytes + self.scale.nbytes
        self.multiply(torch.zeros(1, weight.shape[1], dtype=self.activations))      # refuses here, not in a run

    def multiply(self, x: Tensor) -> Tensor:
        y = torch._weight_int8pack_mm(x, self.weight, self.scale)
        return y if self.bias is None else y.add_(self.bias)


class W4A16(Kernel):
    """4-bit weights in groups of 32 with a scale and a minimum each, bf16 activations. For weights that come from such groups: the grid is
    found again, and scale and minimum are fitted to it. Raises RuntimeError for others."""

    name, activations = "w4a16", torch.bfloat16

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        out, n = weight.shape
        if n % GROUP or out % 16:
            raise RuntimeError("the kernel takes inputs that 32 divides and outputs that 16 divides")
        groups = weight.float().view(out, -1, GROUP)
        numbers, scale, middle = self.grid(groups)
        again = (numbers - 8) * scale + middle
        if float((again - groups).norm() / groups.norm().clamp_min(1e-30)) > ON_GRID:
            raise RuntimeError("the weights do not come from groups of 4 bits")
        self.packed = torch.ops.aten._convert_weight_to_int4pack_for_cpu(numbers.view(out, n).to(torch.int32), 1)
        self.scales = torch.cat([scale, middle], -1).transpose(0, 1).contiguous().to(torch.bfloat16)       # [groups, out, 2]
        self.bias, self.nbytes = None if bias is None else bias.to(torch.bfloat16), self.packed.nbytes + self.scales.nbytes
        self.multiply(torch.zeros(1, n, dtype=self.activations))

    @staticmethod
    def grid(groups: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """groups [out, g, 32] -> numbers 0 to 15, scale and middle [out, g, 1] that bf16 holds: w = (number - 8) * scale + middle."""
        low = groups.amin(-1, keepdim=True)
        step = ((groups.amax(-1, keepdim=True) - low) / 15).clamp_min(1e-12)
        numbers = torch.round((groups - low) / step).clamp_(0, 15)
        centred = numbers - numbers.mean(-1, keepdim=True)
        scale = (centred * groups).sum(-1, keepdim=True) / centred.square().sum(-1, keepdim=True).clamp_min(1e-9)     # least squares
        scale = scale.to(torch.bfloat16).float()
        middle = (groups - (numbers - 8) * scale).mean(-1, keepdim=True).to(torch.bfloat16).float()
        return numbers, scale, middle

    def multiply(self, x: Tensor) -> Tensor:
        y = torch.ops.aten._weight_int4pack_mm_for_cpu(x, self.packed, GROUP, self.scales)
        return y if self.bias is None else y.add_(self.bias)


KERNELS: dict[str, type[Kernel]] = {k.name: k for k in (OneDNN, W16A32, W8A16, W4A16)}
ROW_EXACT = tuple(name for name, k in KERNELS.items() if k.row_exact)


def onednn_bf16() -> bool:
    """Whether torch has oneDNN's packed bf16 kernel and this CPU computes bf16 natively."""
    return (hasattr(torch.ops.mkldnn, "_reorder_linear_weight") and torch.backends.mkldnn.is_available()
            and torch.ops.mkldnn._is_mkldnn_bf16_supported())


@functools.cache
def available(name: str) -> bool:
    """Whether this torch and CPU have the kernel, and, of one that is called row-exact, whether it is."""
    if name == OneDNN.name:
        return onednn_bf16()
    if name not in KERNELS:
        return False
    try:
        return bool(safe_rows(KERNELS[name], torch.get_num_threads()))
    except (RuntimeError, AttributeError, NotImplementedError):
        return False


@functools.cache
@torch.inference_mode()
def safe_rows(kernel: type[Kernel], threads: int) -> dict[int, int]:
    """k -> to how many rows a pass over k rows is padded so that each row gets its own bits. Empty where no number serves."""
    rng = torch.Generator().manual_seed(0)
    numbers = torch.randint(0, 16, (96, 256), generator=rng)
    numbers[:, ::GROUP], numbers[:, 1::GROUP] = 0, 15           # both ends of every group are in use
    made = kernel((numbers - 8) / 64, None)
    x = torch.randn(2 * MOST_ROWS, 256, generator=rng).to(kernel.activations)
    for reference in (1, 3, 8):
        alone = torch.cat([made.multiply(_padded(x[i:i + 1], reference))[:1] for i in range(len(x))])
        good = [k for k in range(1, len(x) + 1) if torch.equal(made.multiply(x[:k]), alone[:k])]
        if len(good) > len(x) // 2:
            return {k: min(g for g in good if g >= k) for k in range(1, MOST_ROWS + 1) if any(g >= k for g in good)}
    return {}


def _padded(x: Tensor, rows: int) -> Tensor:
    return torch.cat([x, x.new_zeros(rows - x.shape[0], x.shape[1])])


def make(name: str, weight: Tensor, bias: Tensor | None) -> Callable[[Tensor], Tensor]:
    """The kernel of this name for this weight; a matrix that does not come from 4 bits takes 8 where 4 are asked for. Raises RuntimeError."""
    if name == W4A16.name:
        try:
            return W4A16(weight, bias)
        except RuntimeError:
            return W8A16(weight, bias)
    return KERNELS[name](weight, bias)
