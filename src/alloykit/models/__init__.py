"""Models of transformers: found, checked, loaded and run. What teachers and students share."""
