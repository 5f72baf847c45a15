"""An out-of-tree NPU backend for the stock TVM wheel; the first device is Gemmini.

This package imports nothing of TVM by itself: TVM's entry point runs
`npu_target._register:register` in the middle of `import tvm`, and whichever of the two is
imported first must find the other usable. Import the submodules you need.
"""

__version__ = "0.1.0"
