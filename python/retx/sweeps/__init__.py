"""Sweeps: a grid of scenarios, each run several times, with a store that survives a crash.

Stages of a sweep: `grid` (varied values as points) → `plan` (each point resolved, and named by a
hash of its resolved scenario) → `running` (the loop), which uses `local` or `cluster` (executors of
runs), `precision` (number of runs needed), `derive` (user function on each run), `store` (results
on disk or in memory) and `display` → `result`. A study is also run as a sweep: `run_study`.
"""
