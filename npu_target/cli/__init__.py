"""The command `npu-target`: its options, and what every command of it has in common.

Nothing here imports TVM: help, completion and refusals of wrong options are there at once. What a
command does is in `npu_target.jobs`, which is imported when the options are known.
"""
