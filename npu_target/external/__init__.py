"""Measuring on what a command of the user's runs: an RTL simulation, an emulator, a board.

A program and its data become an ELF for the device's own host (`elf`), the command is started with
it and answers with cycles and bytes (`command`); both together are a device (`device`).
"""
