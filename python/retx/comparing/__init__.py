"""Sets simulations and emulations of a scenario side by side (`retx.compare`, `retx compare`)."""
