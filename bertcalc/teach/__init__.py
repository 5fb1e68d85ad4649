"""Lessons, lectures, and counting exercises: drawn from a seed, with explanations of wrong answers by miscounts."""
