"""Statistics of a teacher's answers as pure functions: entropy, margin, calibration, Mahalanobis distance, density."""
