"""Networks in files of other frameworks: what they compute, as a Relax function."""

from .errors import FrontendError
from .imported import Imported, TensorInfo
from .load import SUFFIXES, load

__all__ = ["SUFFIXES", "FrontendError", "Imported", "TensorInfo", "load"]
