"""Published claims about LLM serving as experiments, one module a paper. `benchmarks.sim_papers` runs them."""
