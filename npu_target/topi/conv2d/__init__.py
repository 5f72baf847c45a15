"""conv2d, and the three ways in which its pixels become rows of steps.

`pixels`: a row for each output pixel; `joined`: of small images, lines one after another;
`windows`: of few channels, a row for each window.
"""

from .operator import Conv2d

__all__ = ["Conv2d"]
