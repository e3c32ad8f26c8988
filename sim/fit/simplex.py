"""The last step of a fit: a search that needs no derivatives, for what linear equations cannot say."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sim.fit.least_squares import Array

REFLECT, EXPAND, CONTRACT, SHRINK = 1.0, 2.0, 0.5, 0.5


def nelder_mead(value_of: Callable[[Array], float], start: Array, size: float, calls: int) -> Array:
    """The best point found in `calls` calls, from a simplex of `size` around `start`.

    Nelder and Mead, "A simplex method for function minimization", The Computer Journal 7 (1965).
    """
    left = calls

    def measured(point: Array) -> tuple[float, Array]:
        nonlocal left
        left -= 1
        return value_of(point), point

    corners = [measured(start)]
    for axis in range(len(start)):
        corner = start.copy()
        corner[axis] += size
        corners.append(measured(corner))
    while left > 0:
        corners.sort(key=lambda item: item[0])
        worst = corners[-1]
        centre = np.mean([point for _, point in corners[:-1]], axis=0)
        away = centre - worst[1]
        moved = measured(centre + REFLECT * away)
        if moved[0] < corners[0][0]:
            further = measured(centre + EXPAND * away)
            corners[-1] = min(moved, further, key=lambda item: item[0])
        elif moved[0] < corners[-2][0]:
            corners[-1] = moved
        else:
            inside = measured(centre + (CONTRACT if moved[0] < worst[0] else -CONTRACT) * away)
            if inside[0] < min(moved[0], worst[0]):
                corners[-1] = inside
            else:
                best = corners[0][1]
                corners[1:] = [measured(best + SHRINK * (point - best)) for _, point in corners[1:]]
    return min(corners, key=lambda item: item[0])[1]
