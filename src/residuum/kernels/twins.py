"""Every kernel once more in plain NumPy: what the compiled ones are compared with, and the place to read first."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def sub_all(mu: Array) -> tuple[Array, float]:
    """Twin of `sub.sub_all`."""
    for axis in range(mu.ndim):
        first, rest = np.split(mu, [1], axis)
        mu = rest - first
    return mu, float(np.abs(mu).sum())


def center_all(z: Array) -> Array:
    """Twin of `center.center_all`."""
    for axis in range(z.ndim):
        padded = np.insert(z, 0, 0.0, axis)
        z = padded - padded.mean(axis, keepdims=True)
    return z


def add_component(target: Array, component: Array, axes: tuple[int, ...]) -> float:
    """Twin of `component.add_component`."""
    others = [axis for axis in range(target.ndim) if axis not in axes]
    target += np.expand_dims(component, others) / np.prod([target.shape[axis] for axis in others])
    return float(np.abs(target).sum())
