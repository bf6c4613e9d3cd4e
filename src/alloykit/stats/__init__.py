"""Statistics of a teacher's outputs as pure functions: entropy, margin, calibration, Mahalanobis distance, density."""
