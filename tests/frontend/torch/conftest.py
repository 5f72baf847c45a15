"""Files of small exported programs."""

import pytest


@pytest.fixture(scope="module")
def quantized_file(tmp_path_factory):
    import torch.ao.quantization.fx._decomposed
    from torch_archives import TinyQuantized
    from torch_networks import saved

    folder = tmp_path_factory.mktemp("quantized")
    return saved(folder, TinyQuantized().eval(), torch.randn(1, 2, 6, 6))


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    import torch
    from torch_archives import Tiny
    from torch_networks import saved

    return saved(tmp_path_factory.mktemp("tiny"), Tiny().eval(), torch.randn(1, 2, 6, 6))
