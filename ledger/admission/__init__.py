"""Kubernetes at the door: from an AdmissionReview to an event, and from a decision to the answer."""
