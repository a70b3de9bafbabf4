"""What the same log would have come to, had something been otherwise: branches that never touch a head."""
