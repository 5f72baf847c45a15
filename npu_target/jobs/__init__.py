"""What the commands of `npu-target` do: a module for each, with `run(options)`, which returns an
exit code. `npu_target.cli` parses the options and turns errors into lines."""
