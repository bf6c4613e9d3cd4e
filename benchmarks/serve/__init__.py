"""The server under load, on the loopback address."""
