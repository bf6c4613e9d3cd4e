"""The server of `alloykit serve`: its routes, its limits and its pages."""
