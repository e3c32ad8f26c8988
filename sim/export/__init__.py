"""Results for other programs: JSON, CSV, Parquet, a trace for Perfetto, Prometheus text, `vllm bench serve`."""
