"""Tune a network for an NPU: `python tune.py --model resnet18`; `npu-target` has all else."""

import sys

from npu_target.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["tune", *sys.argv[1:]]))
