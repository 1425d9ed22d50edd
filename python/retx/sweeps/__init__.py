"""Sweeps: a grid of scenarios, each run several times, with a store that survives what may come.

The way of a sweep: `grid` (what varies, as points) → `plan` (each point resolved, and named by what
it resolves to) → `running` (the loop) over `local` or `cluster` (where runs are made), `precision`
(how many are needed), `derive` (what a function of the user's own makes of each run), `store`
(what has been found, on disk or in memory) and `display` → `result`. A study is a sweep, too:
`run_study`.
"""
