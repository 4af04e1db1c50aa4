"""Speed as ratios measured in one run; `make bench` runs all of them, and docs/benchmarks.md has the results."""
