"""Tune a network for an NPU: `python tune.py --model resnet18`; `--help` has the rest."""

import sys

from npu_target.tuning.cli import main

if __name__ == "__main__":
    sys.exit(main())
