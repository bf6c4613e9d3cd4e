"""What teachers and students read of long texts, and how often they are right."""
