"""Tables and figures of StrataNet."""
