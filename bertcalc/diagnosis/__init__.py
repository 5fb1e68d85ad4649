"""Somebody's number: which known count it is, by which miscounts it differs from one, what other tools say."""
