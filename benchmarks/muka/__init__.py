"""The tables of Li et al. 2021 (MUKA)."""
