"""Simulated devices served over TVM's RPC: a tracker, servers, and what clients need to reach them.

TVM's RPC has no authentication and no encryption: whoever reaches a tracker or a server can run
code as the user who started it. Everything here binds to loopback unless told otherwise.
"""
