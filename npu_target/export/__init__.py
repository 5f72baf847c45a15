"""Networks as C for the device's own host: a folder that needs no TVM and no Python."""
