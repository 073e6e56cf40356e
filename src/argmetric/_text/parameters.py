"""Arguments of a constructor that can be read, set and cloned."""

from __future__ import annotations

from inspect import Parameter, signature
from typing import Any, Self

from argmetric._results.display import Lines, Shown, lines_of


class Parameters(Shown):
    """The parameters of an estimator, as scikit-learn has them but without loading it.

    The constructor stores each of its arguments under its name and does no more.
    """

    @classmethod
    def _parameters(cls) -> dict[str, Parameter]:
        return dict(signature(cls).parameters)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The arguments of the constructor.

        Parameters
        ----------
        deep : bool, default=True
            Taken because scikit-learn passes it; it changes nothing.
        """
        return {name: getattr(self, name) for name in self._parameters()}

    def set_params(self, **params: Any) -> Self:
        """Change arguments of the constructor.

        Parameters
        ----------
        **params
            New values by name.
        """
        known = self._parameters()
        for name in params:
            if name not in known:
                raise ValueError(
                    f"{type(self).__name__} has no parameter {name!r}; it has "
                    f"{', '.join(known)}"
                )
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def _lines(self) -> Lines:
        return lines_of(self.get_params())

    def __repr__(self) -> str:
        shown = [
            f"{name}={getattr(self, name)!r}"
            for name, parameter in self._parameters().items()
            if parameter.kind is Parameter.POSITIONAL_OR_KEYWORD
            or getattr(self, name) != parameter.default
        ]
        return f"{type(self).__name__}({', '.join(shown)})"
