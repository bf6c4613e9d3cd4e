"""The page that says whether to trust a student, the comparison of several runs, and the card beside the student."""
