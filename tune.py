"""Tune a network for an NPU: `python tune.py --model resnet18`; `npu-target` has all else."""

import sys

try:
    from npu_target.cli.main import main
except ModuleNotFoundError as error:
    sys.exit(
        f"tune.py: error: Python's package {error.name} is not installed for {sys.executable}; "
        "install all that is needed, in this folder: "
        f"{sys.executable} -m pip install -e ."
    )

if __name__ == "__main__":
    sys.exit(main(["tune", *sys.argv[1:]]))
