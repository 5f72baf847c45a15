"""What a client may call on a server besides the device itself, by the names of TVM's functions."""

from __future__ import annotations

DESCRIBE = "npu.rpc.describe"
SET_DEADLINE = "npu.rpc.set_deadline"
RUN = "npu.rpc.run"
DIGEST = "npu.rpc.digest"
PACK = "npu.rpc.pack"
