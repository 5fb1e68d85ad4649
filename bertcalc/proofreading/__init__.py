"""Proofread a write-up: every number and calculation in a text, checked against the model that it is about."""
