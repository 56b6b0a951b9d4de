"""Writes `contracts/`, the wire in no language, from the models, the topology and the REST routes."""
