"""Placet."""
