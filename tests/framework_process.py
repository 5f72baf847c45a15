"""A framework in a process of its own, which damaged files may end: `Framework` asks it.

Run as a program it is that process: pickled questions come in, pickled answers go out.
"""

from __future__ import annotations

import os
import pickle
import select
import subprocess
import sys
from typing import Any

import numpy as np

_MOST_SECONDS = 20


class Framework:
    """What a framework computes of files. ``kind``: "tflite", the reference kernels of LiteRT, or
    "onnx", ONNX Runtime."""

    def __init__(self, kind: str) -> None:
        self._command = [sys.executable, __file__, kind]
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, content: bytes, inputs: list[np.ndarray]) -> list[np.ndarray] | None:
        """The outputs; None for a file that the framework refuses, or does not survive."""
        if self._process is None:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        try:
            pickle.dump((content, inputs), process.stdin)
            process.stdin.flush()
            if not select.select([process.stdout], [], [], _MOST_SECONDS)[0]:
                raise EOFError("hangs")
            answer: list[np.ndarray] | None = pickle.load(process.stdout)
        except (EOFError, BrokenPipeError):
            self.close()
            return None
        return answer

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def __enter__(self) -> Framework:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def tflite(content: bytes, inputs: list[np.ndarray]) -> list[np.ndarray]:
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    made = Interpreter(
        model_content=content, experimental_op_resolver_type=OpResolverType.BUILTIN_REF
    )
    made.allocate_tensors()
    for detail, value in zip(made.get_input_details(), inputs, strict=True):
        made.set_tensor(detail["index"], value)
    made.invoke()
    return [made.get_tensor(detail["index"]) for detail in made.get_output_details()]


def onnx(content: bytes, inputs: list[np.ndarray]) -> list[np.ndarray]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(content, options)
    names = [value.name for value in session.get_inputs()]
    return session.run(None, dict(zip(names, inputs, strict=True)))


def main() -> None:
    run = {"tflite": tflite, "onnx": onnx}[sys.argv[1]]
    # What the framework prints goes elsewhere.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    while True:
        try:
            content, inputs = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            answer: Any = run(content, inputs)
        except Exception:  # noqa: BLE001  it refuses the file
            answer = None
        pickle.dump(answer, answers)
        answers.flush()


if __name__ == "__main__":
    main()
