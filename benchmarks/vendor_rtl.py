"""What the vendor's library took on the hardware's RTL, to check the simulated baseline by."""

from __future__ import annotations

# Cycles of one call on the default device's RTL with DDR3-1333 at a 500 MHz core, by layer of
# ResNet-18; the first convolution with its max pool.
RTL_CYCLES = {
    "conv2d_224x224x3_64_k7_s2_p3": 1_976_043,
    "conv2d_56x56x64_64_k3_s1_p1": 537_272,
    "conv2d_56x56x64_128_k3_s2_p1": 427_546,
    "conv2d_56x56x64_128_k1_s2_p0": 99_703,
    "conv2d_28x28x128_128_k3_s1_p1": 632_229,
    "conv2d_28x28x128_256_k3_s2_p1": 321_916,
    "conv2d_28x28x128_256_k1_s2_p0": 85_872,
    "conv2d_14x14x256_256_k3_s1_p1": 670_734,
    "conv2d_14x14x256_512_k3_s2_p1": 466_523,
    "conv2d_14x14x256_512_k1_s2_p0": 94_276,
    "conv2d_7x7x512_512_k3_s1_p1": 866_755,
    "matmul_1x512x1000": 58_000,
}

# Of these the figure is that of a run after another one, with warm caches.
WARM = frozenset({"matmul_1x512x1000"})

# A call on the RTL includes the library's search for the tile of a convolution, on the host,
# before the first command. Streams recorded there, of six convolutions with 1 to 270 checks, show
# about 160 instructions a check, some of them divisions; calls took 210 to 260 cycles a check
# longer than the simulator does for their commands.
_SEARCH_CYCLES = 300
_CHECK_CYCLES = 240


def search_cycles(checks: int) -> int:
    """About what the host takes to choose the tile of a convolution by so many checks."""
    return _SEARCH_CYCLES + _CHECK_CYCLES * checks if checks else 0
