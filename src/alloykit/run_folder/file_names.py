"""The names of the files in a run folder."""

from __future__ import annotations

METRICS, TRAINING, ENVIRONMENT, INPUTS = "metrics.json", "training.json", "environment.json", "inputs.json"
RECIPE, STATE, ANSWERS, REPORT = "recipe.yaml", "state.safetensors", "answers.safetensors", "report.html"
SUMMARY, LOG = "generation.json", "run.log"
EXPORT = "export/onnx"  # the folder of the ONNX export
POOL_ANSWERS = "pool-answers.json"  # what the student answers to the pool, as counts
COMPARED = "changes.json"  # an updated run and the earlier one
START = "start"  # a student that was passed from Python's memory, before its training
CACHE = "cache"  # the folder of the teachers' outputs
STATES = "text_states-texts.safetensors"  # the states of the pool, from the method's encoder
