"""Several processes and machines: workers, growth, and a simulation of what cannot be measured here."""
