"""An invented fleet and its history, for demonstrations, benchmarks and tests."""
