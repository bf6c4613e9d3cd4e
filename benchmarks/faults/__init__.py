"""Faults: damaged inputs, hostile folders, kills, full disks and pairs of processes, tried through the command line."""
