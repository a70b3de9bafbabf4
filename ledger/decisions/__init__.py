"""What the World asks and what the core answers: decisions with their reasons."""
