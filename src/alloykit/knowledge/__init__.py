"""The teachers' outputs for the texts: computed once by a sweep, kept in a store, read in any order."""
