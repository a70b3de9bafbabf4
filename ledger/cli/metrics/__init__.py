"""What a running process tells those who monitor it."""
