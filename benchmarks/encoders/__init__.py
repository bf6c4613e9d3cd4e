"""Small encoders that no package contains: other languages, another architecture and another kind of vocabulary."""
