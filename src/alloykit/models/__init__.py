"""Models of transformers: locate, check, load and run them. Teachers and students share this code."""
