"""`python -m npu_target`: the same as the command `npu-target`."""

from npu_target.cli.start import start

if __name__ == "__main__":
    start()
