"""Networks by name, in float32 Relax: `get_model("resnet18")`."""

from .image import load_image
from .registry import MODELS, ImageModel, Model, ModelError, get_model

__all__ = ["MODELS", "ImageModel", "Model", "ModelError", "get_model", "load_image"]
