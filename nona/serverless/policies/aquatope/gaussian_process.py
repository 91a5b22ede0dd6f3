"""Gaussian processes with a Matérn-5/2 kernel, as Bayesian optimisation uses them.

Source: Rasmussen, Williams, Gaussian Processes for Machine Learning, 2006, sections 2.2 and 4.2;
computed by scikit-learn, which is loaded only when a process is fitted.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Process:
    """A posterior over a function on [0, 1]^d.

    Prior: variance · Matérn(5/2, one length for all dimensions), plus white noise; the data are
    standardised first. The constants are those of the greatest likelihood.
    """

    def __init__(self) -> None:
        self._kernel: Any = None
        self._fitted: Any = None
        self._mean, self._scale = 0.0, 1.0

    def fit(self, x: Floats, y: Floats, learn: bool = True) -> None:
        """Condition on ``y`` (n,) observed at ``x`` (n, d); ``learn`` fits the kernel's constants too."""
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.gaussian_process import GaussianProcessRegressor
        from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

        if self._kernel is None:
            shape = ConstantKernel(1.0, (1e-2, 1e2)) * Matern(1.0, (5e-2, 2e1), nu=2.5)
            self._kernel = shape + WhiteKernel(1e-2, (1e-6, 1.0))
        self._mean, self._scale = float(y.mean()), float(y.std()) or 1.0
        optimizer = "fmin_l_bfgs_b" if learn else None
        process = GaussianProcessRegressor(self._kernel, alpha=1e-10, optimizer=optimizer)
        with warnings.catch_warnings():  # a constant at its bound, as without noise, is no fault
            warnings.simplefilter("ignore", ConvergenceWarning)
            self._fitted = process.fit(x, (y - self._mean) / self._scale)
        self._kernel = self._fitted.kernel_

    def samples(self, x: Floats, count: int, generator: np.random.Generator) -> Floats:
        """(count, n) Functions drawn from the posterior, without observations' noise, at ``x`` (n, d)."""
        mean, covariance = self._fitted.predict(x, return_cov=True)
        covariance = covariance - self._kernel.k2.noise_level * np.eye(len(x))
        drawn = generator.multivariate_normal(
            mean, covariance, size=count, method="eigh", check_valid="ignore"
        )
        return np.asarray(self._mean + self._scale * drawn, dtype=np.float64)
