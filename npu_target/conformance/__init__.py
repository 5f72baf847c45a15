"""The tests that every kind of device passes.

    pytest --pyargs npu_target.conformance --device NAME

They follow the steps of bringing one up, in their order, and say which step is missing; see
docs/porting.md. They need the extra `test`.
"""
