"""PyTorch's exported programs: what ``torch.export.save`` wrote."""

from .reader import read

__all__ = ["read"]
