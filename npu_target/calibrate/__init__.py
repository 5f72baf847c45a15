"""Making the simulator true to a device that somebody has: an RTL simulation, an FPGA, a board.

Small programs and some layers (`experiments`) run through a command of the user's (`measure`), and
`measurements` keeps what it says. `fit` looks for the few fields of the config that explain the
cycles, with the simulator as its model, `told_apart` for what would explain them as well; `report`
says it all.
"""
