"""Kinds of device, each in a folder of its own."""
