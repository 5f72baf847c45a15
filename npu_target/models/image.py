"""Images into network inputs: float32 NHWC, normalized as the ImageNet networks expect."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .errors import ModelError

# Per-channel mean and deviation of ImageNet's training images (RGB, in 0..1), with which
# torchvision's networks were trained.
_MEAN = np.array([0.485, 0.456, 0.406], "float32")
_DEVIATION = np.array([0.229, 0.224, 0.225], "float32")


def load_image(file: str | Path, height: int, width: int) -> np.ndarray:
    """An image file as float32 (1, height, width, 3), normalized; see :func:`load_pixels`."""
    return normalize(load_pixels(file, height, width))


def load_pixels(file: str | Path, height: int, width: int, mode: str = "RGB") -> np.ndarray:
    """An image file (BMP, PNG, JPEG, ...) as uint8 (1, height, width, 3); with mode ``L`` of one
    channel, its brightness.

    The image is resized to the whole of height x width (bilinear).

    Raises :class:`ModelError` if the file is not there, is no image, or Pillow is missing.
    """
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError as error:
        raise ModelError("reading images needs Pillow: python -m pip install pillow") from error
    path = Path(file)
    if not path.is_file():
        raise ModelError(f"{file}: no such image file")
    try:
        with Image.open(path) as image:
            resized = image.convert(mode).resize((width, height), Image.Resampling.BILINEAR)
    except (UnidentifiedImageError, OSError, Image.DecompressionBombError) as error:
        raise ModelError(f"{file}: not a readable image ({error})") from error
    return np.asarray(resized).reshape(1, height, width, -1)


def normalize(pixels: np.ndarray) -> np.ndarray:
    """uint8 RGB pixels (..., 3) as float32 of about zero mean and unit deviation."""
    return (pixels.astype("float32") / np.float32(255) - _MEAN) / _DEVIATION


def synthetic_images(count: int, height: int, width: int, seed: int) -> list[np.ndarray]:
    """``count`` normalized images (1, height, width, 3) with the spectrum of photographs.

    Amplitudes fall with frequency (1/f), as they do in natural images, unlike white noise,
    which a convolution averages away.
    """
    random = np.random.default_rng(seed)
    vertical = np.fft.fftfreq(height)[:, np.newaxis]
    horizontal = np.fft.rfftfreq(width)[np.newaxis, :]
    frequency = np.maximum(np.hypot(vertical, horizontal), 1.0 / max(height, width))
    images = []
    for _ in range(count):
        channels = []
        for _ in range(3):
            noise = np.fft.rfft2(random.normal(size=(height, width)))
            channel = np.fft.irfft2(noise / frequency, s=(height, width))
            low, high = channel.min(), channel.max()
            channels.append((channel - low) / max(high - low, 1e-9) * 255)
        pixels = np.stack(channels, axis=-1).round().astype("uint8")
        images.append(normalize(pixels[np.newaxis]))
    return images
