"""Small encoders that no package carries: other languages, another architecture and another kind of vocabulary."""
