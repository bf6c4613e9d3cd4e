"""The names of the files and folders in a run folder."""

from __future__ import annotations

RECIPE = "recipe.yaml"  # with every default written out
INPUTS = "inputs.json"  # what the fit and the student were made of
ENVIRONMENT = "environment.json"  # versions and machine
LOG = "run.log"  # every printed line, with its time
CACHE = "cache"  # folder: the teachers' outputs
GENERATED = "generated"  # folder: texts of the `generation:` block
SUMMARY = "generation.json"  # beside generated texts: what is known of them
START = "start"  # folder: a student that was passed from Python's memory, before its training
STATES = "text_states-texts.safetensors"  # the states of the pool, from the method's encoder
STATE = "state.safetensors"  # the state of the method's fit
TRAINING = "training.json"  # losses, checks, the selected step
STUDENT = "student"  # folder: the classifier
METRICS = "metrics.json"  # measurements and warnings
ANSWERS = "answers.safetensors"  # every classifier's answers to the test texts
REPORT = "report.html"
CHANGES = "changes.json"  # of an update: the earlier student and the new one
CHANGES_PAGE = "changes.html"  # the same as a page
POOL_ANSWERS = "pool-answers.json"  # the student's answers to the pool, as counts
EXPORT = "export/onnx"  # folder: the student as ONNX
