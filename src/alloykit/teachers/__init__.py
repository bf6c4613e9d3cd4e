"""Teachers: fine-tuned classifiers, frozen and in eval mode. Each reads text with its own tokenizer."""
