"""An example of a method outside alloykit."""
