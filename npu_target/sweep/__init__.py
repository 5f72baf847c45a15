"""Many devices and one network: which of them is worth its area?"""
