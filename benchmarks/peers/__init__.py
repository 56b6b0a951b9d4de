"""Programs that Placet is compared with, each run by an environment of its own."""
