"""Programs exported with open shapes: fixed by what is given, refused by name without it."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch.export import Dim  # noqa: E402
from torch_networks import LeNet, saved, seeded  # noqa: E402

from npu_target.frontend import FrontendError, load  # noqa: E402
from npu_target.host import build_host, run_host  # noqa: E402


class Pooled(torch.nn.Module):
    """Takes images of any size."""

    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3, 2, 1)

    def forward(self, image, shift):
        pixels = torch.relu(self.conv(image)).flatten(2)
        return pixels.mean(2) + shift


@pytest.fixture(scope="module")
def open_file(tmp_path_factory):
    network = seeded(Pooled)
    extents = {"image": {0: Dim("batch", max=8), 2: Dim("height", min=8)}, "shift": {}}
    inputs = (torch.randn(2, 3, 12, 10), torch.randn(4))
    folder = tmp_path_factory.mktemp("open")
    return network, saved(folder, network, *inputs, dynamic_shapes=extents)


@pytest.mark.parametrize("shape", [(1, 3, 32, 10), (3, 3, 9, 10)])
def test_a_given_shape_is_that_of_the_network(open_file, shape):
    network, file = open_file
    net = load(file, {"image": shape})
    assert [given.shape for given in net.inputs] == [shape, (4,)]
    image, shift = torch.randn(shape), torch.randn(4)
    (found,) = run_host(build_host(net.mod), image.numpy(), shift.numpy())
    wanted = network(image, shift).detach().numpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("shapes", "text"),
    [
        ({}, r"the input image has the open shape \(s\d+, 3, s\d+, 10\); fix it by --shape image="),
        ({"image": (1, 3, 32, 11)}, r"the input image is .*, it cannot be \(1, 3, 32, 11\)"),
        ({"image": (1, 3, 32)}, r"it cannot be \(1, 3, 32\)"),
        ({"picture": (1, 3, 32, 10)}, "has no input 'picture'; there are: image, shift"),
        ({"image": (9, 3, 32, 10)}, r"the program cannot have image=\(9, 3, 32, 10\)"),
        ({"image": (0, 3, 32, 10)}, r"it cannot be \(0, 3, 32, 10\)"),
    ],
)
def test_other_shapes_are_refused(open_file, shapes, text):
    _, file = open_file
    with pytest.raises(FrontendError, match=text):
        load(file, shapes)


def test_a_fixed_shape_may_be_said_but_not_changed(tmp_path):
    file = saved(tmp_path, seeded(LeNet), torch.randn(1, 1, 20, 20))
    assert load(file, {"x": (1, 1, 20, 20)}).inputs[0].shape == (1, 1, 20, 20)
    with pytest.raises(FrontendError, match=r"it cannot be \(2, 1, 20, 20\)"):
        load(file, {"x": (2, 1, 20, 20)})
