"""StrataNet: the method and its blocks of layers."""
