"""Fine-tuned classifiers as they come: frozen, in eval mode, each reading text with its own tokenizer."""
