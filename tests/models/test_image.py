"""Images into network inputs."""

import numpy as np
import pytest
from PIL import Image

from npu_target.models import ModelError
from npu_target.models.image import load_image, normalize, synthetic_images


def test_a_constant_image_keeps_its_colour_through_resizing(tmp_path):
    file = tmp_path / "image.bmp"
    colour = (124, 116, 104)
    Image.new("RGB", (31, 17), colour).save(file)
    found = load_image(file, 8, 12)
    assert found.shape == (1, 8, 12, 3)
    assert found.dtype == np.float32
    expected = (np.array(colour) / 255 - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]
    np.testing.assert_allclose(found, np.broadcast_to(expected, found.shape), atol=1e-6)


def test_an_image_of_the_right_size_is_not_changed_and_alpha_is_dropped(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (5, 7, 3), "uint8")
    Image.fromarray(np.dstack([pixels, np.full((5, 7), 255, "uint8")])).save(tmp_path / "a.png")
    np.testing.assert_array_equal(load_image(tmp_path / "a.png", 5, 7), normalize(pixels[None]))


def test_says_what_is_wrong_with_a_file(tmp_path):
    with pytest.raises(ModelError, match="no such image file"):
        load_image(tmp_path / "nowhere.bmp", 4, 4)
    (tmp_path / "text.bmp").write_text("not an image")
    with pytest.raises(ModelError, match="not a readable image"):
        load_image(tmp_path / "text.bmp", 4, 4)


def test_synthetic_images_follow_the_seed_and_look_like_images():
    first, second = synthetic_images(2, 16, 24, seed=3)
    assert first.shape == (1, 16, 24, 3)
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(first, synthetic_images(1, 16, 24, seed=3)[0])
    # Neighbours resemble each other, as in photographs.
    assert np.corrcoef(first[0, :, :-1].ravel(), first[0, :, 1:].ravel())[0, 1] > 0.5
