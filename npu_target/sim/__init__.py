"""`npu-target sim`: a program or a raw command stream on the simulated device.

How many cycles it takes, where they went, and what differs between two runs.
"""
