"""What each event type must look like: one module per family."""
