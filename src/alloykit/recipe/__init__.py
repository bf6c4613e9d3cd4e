"""The recipe as pydantic models, and messages for a recipe that is not valid."""
