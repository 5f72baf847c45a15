"""Where windows lie on an image: strides, dilation, and TFLite's two kinds of padding."""

from __future__ import annotations

from dataclasses import dataclass

from tvm import relax

from ..operation import Operation

_SAME, _VALID = 0, 1
# Larger ones no network has, a damaged file easily.
_MOST = 1 << 16


@dataclass(frozen=True)
class Window:
    """Rows and columns of a window, and of the steps between windows and within one.

    padding : top, left, bottom, right. Where it is odd, the end has the larger part.
    """

    size: tuple[int, int]
    strides: tuple[int, int]
    dilation: tuple[int, int]
    padding: tuple[int, int, int, int]


def window_of(op: Operation, size: tuple[int, int]) -> Window:
    """The operator's window of this size on its first operand, an image [n, h, w, c]."""
    shape = image_shape(op, 0)
    strides = (op.option("stride_h"), op.option("stride_w"))
    dilation = (op.option("dilation_h_factor", 1), op.option("dilation_w_factor", 1))
    for numbers in (size, strides, dilation):
        if not all(1 <= number <= _MOST for number in numbers):
            raise op.refusal(f"no windows have size {size}, strides {strides}, dilation {dilation}")
    spans = tuple((n - 1) * d + 1 for n, d in zip(size, dilation, strict=True))
    padding = [0, 0, 0, 0]
    if is_same(op):
        for axis in (0, 1):
            extent, stride, span = shape[1 + axis], strides[axis], spans[axis]
            missing = max((-(-extent // stride) - 1) * stride + span - extent, 0)
            padding[axis], padding[axis + 2] = missing // 2, missing - missing // 2
    elif spans[0] > shape[1] or spans[1] > shape[2]:
        raise op.refusal(f"a window of {spans} does not fit into an image of {shape[1:3]}")
    top, left, bottom, right = padding
    return Window(size, strides, dilation, (top, left, bottom, right))


def is_same(op: Operation) -> bool:
    """Whether windows reach over the image's borders."""
    padding = op.option("padding")
    if padding not in (_SAME, _VALID):
        raise op.refusal(f"its padding {padding} is neither SAME nor VALID")
    return bool(padding == _SAME)


def image_shape(op: Operation, position: int) -> tuple[int, int, int, int]:
    """The shape of an operand that is an image."""
    shape = op.shape(position)
    if len(shape) != 4:
        raise op.refusal(f"its operand {position} is of shape {shape}; [n, h, w, c] is needed")
    n, h, w, c = shape
    return n, h, w, c


def pad_image(
    op: Operation, image: relax.Expr, padding: tuple[int, int, int, int], value: float
) -> relax.Expr:
    """An image with a border of one value; itself where there is no border."""
    if not any(padding):
        return image
    top, left, bottom, right = padding
    widths = [0, 0, top, bottom, left, right, 0, 0]
    return op.emit(relax.op.nn.pad(image, widths, pad_value=value), "padded")
