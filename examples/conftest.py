"""Lets the examples' tests run from the source tree: in use, each example is installed."""

import sys
from pathlib import Path

sys.path[:0] = [str(folder) for folder in sorted(Path(__file__).parent.glob("*/src"))]
