"""From channels first to channels last."""

from .channels_last import channels_last

__all__ = ["channels_last"]
