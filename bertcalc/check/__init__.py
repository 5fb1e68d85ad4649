"""Somebody's number: which known count it is, by which slips it differs from one, what other tools say."""
