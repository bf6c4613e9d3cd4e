"""Methods, one paper per file or folder. `registry.py` lists them; `protocol.py` defines what a method is."""
