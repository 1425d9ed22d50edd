"""Results of a tuning."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from retx.errors import UsageError
from retx.errors.meant import choice
from retx.scenarios.parsed import resolve, scenario_toml
from retx.tuning.objective import Objective
from retx.tuning.space import Space

if TYPE_CHECKING:
    import optuna

    from retx.plots.style import Figure
    from retx.scenarios.source import Scenario


class Tuning:
    """Result of a tuning: the trials, the best of them, and figures of the objective."""

    def __init__(
        self,
        study: optuna.Study,
        space: Space,
        objectives: list[Objective],
        scenario: Scenario,
        overrides: Mapping[str, Any],
    ) -> None:
        self._study = study
        self._space = space
        self._scenario = scenario
        self._overrides = overrides
        self.objectives = objectives

    @property
    def keys(self) -> list[str]:
        """Keys that were varied."""
        return list(self._space)

    @property
    def units(self) -> dict[str, str]:
        """Units of the varied keys, such as `ms` for a column in milliseconds; "" if none."""
        return {key: getattr(values, "unit", "") for key, values in self._space.items()}

    @cached_property
    def trials(self) -> pl.DataFrame:
        """One row per trial: `trial`, a column for each key and each objective.

        Objectives are null if a run had no value, such as an unfinished transfer.
        """
        from retx.tuning.store import judged

        rows = [
            {
                "trial": number,
                **{key: of.shown(trial.params[key]) for key, of in self._space.items()},
            }
            | dict(
                zip(
                    [one.name for one in self.objectives],
                    trial.values or [None] * len(self.objectives),
                    strict=True,
                )
            )
            for number, trial in enumerate(judged(self._study))
        ]
        table = pl.DataFrame(rows, infer_schema_length=None)
        return table.with_columns(pl.col(pl.Null).cast(pl.Float64))

    @cached_property
    def best(self) -> pl.DataFrame:
        """Best trial; with several objectives, the Pareto-optimal trials."""
        names = [one.name for one in self.objectives]
        known = self.trials.drop_nulls(names)
        costs = known.select(
            -pl.col(one.name) if one.maximise else pl.col(one.name) for one in self.objectives
        ).to_numpy()
        kept = [
            not ((costs <= cost).all(axis=1) & (costs < cost).any(axis=1)).any() for cost in costs
        ]
        front = known.filter(pl.Series(kept, dtype=pl.Boolean))
        return front.head(1) if len(names) == 1 else front.sort(names)

    def overrides(self, trial: int | None = None) -> dict[str, Any]:
        """Values of a trial as overrides for `retx.run`; of the best trial by default.

        Raises:
            UsageError: No trial has a value, or the trial is unknown.
        """
        rows = self.best if trial is None else self.trials.filter(pl.col("trial") == trial)
        if rows.is_empty():
            missing = "no trial has a value" if trial is None else f"there is no trial {trial}"
            raise UsageError(f"{missing}: see the trials")
        row = rows.row(0, named=True)
        own = {key: values.written(row[key]) for key, values in self._space.items()}
        return {**self._overrides, **own}

    def scenario(self, trial: int | None = None) -> dict[str, Any]:
        """Scenario with the values of a trial; of the best trial by default."""
        return resolve(self._scenario, overrides=self.overrides(trial))

    def scenario_toml(self, trial: int | None = None) -> str:
        """Text of a scenario file with the values of a trial; of the best trial by default."""
        return scenario_toml(self._scenario, overrides=self.overrides(trial))

    def landscape(self, x: str | None = None, y: str | None = None) -> Figure:
        """First objective over the keys: one panel for each, or colours over two of them."""
        from retx.plots.landscape import over_each, over_two

        if (x is None) != (y is None):
            raise UsageError("name two keys, or none")
        if x is None or y is None:
            return over_each(self.trials, self.units, self.objectives[0].name)
        for key in (x, y):
            if key not in self._space:
                raise UsageError(f"{key} was not varied{choice(key, self._space)}")
        return over_two(self.trials, x, y, self.objectives[0].name, self.units)

    def pareto(self) -> Figure:
        """First two objectives against each other, with the Pareto-optimal trials."""
        from retx.plots.landscape import front

        if len(self.objectives) < 2:
            raise UsageError("one objective has no trade-off: draw the landscape")
        first, second = (one.name for one in self.objectives[:2])
        return front(self.trials, self.best, first, second)

    def _repr_html_(self) -> str:
        from retx.results.html import frame_html

        names = ", ".join(one.name for one in self.objectives)
        return frame_html(f"Tuning of {names}: {self.trials.height} trials; the best", self.best)
