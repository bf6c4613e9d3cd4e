"""How far a teacher trusts itself: entropy, confidence, margins, and their comparison between teachers."""
