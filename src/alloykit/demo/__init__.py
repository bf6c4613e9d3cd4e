"""The embedded example: short customer messages, three teams, three teachers, one student."""
