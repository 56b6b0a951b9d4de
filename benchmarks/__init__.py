"""Measures Placet beside what it is compared with, in one run on the same servers."""
