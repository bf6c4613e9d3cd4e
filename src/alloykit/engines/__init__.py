"""Where units of work are computed: in this process, or by the workers of a Ray cluster."""
