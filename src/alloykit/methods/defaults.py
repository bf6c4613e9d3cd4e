"""The methods that are used if none is named."""

AMALGAMATION = "alloy"  # teachers with different labels
DISTILLATION = "mt_bert"  # teachers of one task, with labelled texts
TEACHING = "supervised"  # a teacher, with labelled texts
