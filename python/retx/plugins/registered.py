"""Decorators that register classes, so that scenarios of this process can name them."""

from __future__ import annotations

from typing import Any, TypeVar

from retx.errors import UsageError
from retx.plugins.methods import fault_of
from retx.plugins.user_code import register

Class = TypeVar("Class", bound="type[Any]")


def congestion_control(cls: Class) -> Class:
    """Checks and registers a class, so that scenarios of this process can name it.

    Raises:
        UsageError: The class lacks a method, or a method takes other arguments.
    """
    return _registered("congestion_control", cls)


def loss_cause(cls: Class) -> Class:
    """Checks and registers a class, so that scenarios of this process can name it.

    Raises:
        UsageError: The class lacks a method, or a method takes other arguments.
    """
    return _registered("loss_cause", cls)


def _registered(kind: str, cls: Class) -> Class:
    fault = fault_of(kind, cls)
    if fault:
        raise UsageError(fault)
    register(cls)
    return cls
