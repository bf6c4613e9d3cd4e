"""One paper, one file. `registry.py` lists them; `base.py` says what a method is."""
