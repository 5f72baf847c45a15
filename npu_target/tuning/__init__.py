"""Measuring candidates on devices, searching for better ones, and the logs of both."""
