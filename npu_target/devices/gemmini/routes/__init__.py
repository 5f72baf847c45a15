"""Operators as the vendor's C library runs them: by the hardware's own loops, LOOP_WS and
LOOP_CONV_WS, in tiles that the library chooses by a rule.

The library is `gemmini.h` of the public gemmini-rocc-tests, its way of calling it for whole
networks that of its ImageNet examples: products for the 1x1 convolutions of stride 1, convolutions
for the rest.
"""

from .conv import LoopConvRoute
from .matmul import LoopMatmulRoute

ROUTES = (LoopMatmulRoute, LoopConvRoute)
