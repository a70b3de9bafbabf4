"""What happened, and what was decided: frozen values, nothing else."""
