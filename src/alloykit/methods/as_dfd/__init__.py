"""AS-DFD: the method, and the embeddings that it crafts for each phase."""
