"""The caller and the person of the benchmark: one lean process, REST and the event stream only."""
