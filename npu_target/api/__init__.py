"""What the commands do, from Python.

>>> import npu_target.api as npu
>>> network = npu.load("resnet18")              # or a .tflite, .onnx or .pt2 file
>>> network.tune(trials=300)                    # the layers, with what was gained
>>> built = network.build()
>>> built.save("resnet18.so")
>>> scores, = built.run("photo.jpg")            # or arrays

Of the device alone, without a network:

>>> npu.operator("conv2d(h=28, w=28, ci=128, co=128, k=3, pad=1)").tune(trials=50)

Errors that a user can mend are exceptions whose text says where, what is wrong and what to do.
"""

from .arguments import ArgumentError
from .built import BuiltNetwork, LoadedNetwork, load_built
from .layers import Layers
from .network import LoadedModel, load
from .tunable import SingleOperator, Tunable, operator

__all__ = [
    "ArgumentError",
    "BuiltNetwork",
    "Layers",
    "LoadedModel",
    "LoadedNetwork",
    "SingleOperator",
    "Tunable",
    "load",
    "load_built",
    "operator",
]
