"""The `placet` command: data on stdout, notes on stderr, `--json` everywhere, clear exit codes."""
