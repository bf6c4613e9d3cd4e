"""Evaluation with labels (metrics, calibration, significance) and without (supervision, teachers' health, student's confidence)."""
