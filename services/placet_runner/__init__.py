"""The runner: executes runs step by step, journals each finished step, parks and resumes them."""
