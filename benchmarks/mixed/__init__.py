"""Teachers of different kinds in one run: a model, scikit-learn, stored answers and a service."""
