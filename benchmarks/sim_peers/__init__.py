"""What `benchmarks.sim_speed` runs side by side: the traces, the peers' environment, one small program for each."""
