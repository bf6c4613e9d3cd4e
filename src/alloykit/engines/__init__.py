"""Engines that run jobs: this process, or the workers of a Ray cluster."""
