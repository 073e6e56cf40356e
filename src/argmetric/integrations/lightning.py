"""Lightning: a callback that saves the best validation threshold with the model."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from argmetric._ground.lazy import load_module
from argmetric._verbs.tune import Rule
from argmetric.metrics import MetricLike


@cache
def _define_classes() -> type[Any]:
    """Define `RuleCallback`, which needs Lightning as its base."""
    lightning = load_module("lightning.pytorch")
    from argmetric.tensors import BestAchievable

    class RuleCallback(lightning.Callback):  # type: ignore[misc, name-defined]
        """Log the best validation score, its threshold and the score at 0.5.

        `validation_step` returns a dictionary with scores as "preds" and 0/1 labels as
        "target". The rule is part of every checkpoint, and is saved as JSON at `path`,
        by default ``rule.json`` in the trainer's ``default_root_dir``. `metric` and
        `logits` are those of `argmetric.tensors.BestAchievable`.
        """

        def __init__(
            self,
            metric: MetricLike = "f1",
            *,
            path: str | Path | None = None,
            logits: bool = False,
        ) -> None:
            self.best, self.path = BestAchievable(metric, logits=logits), path
            self.rule: Rule | None = None

        def on_validation_epoch_start(self, trainer: object, pl_module: Any) -> None:
            self.best = self.best.to(pl_module.device)
            self.best.reset()

        def on_validation_batch_end(
            self, trainer: object, pl_module: object, outputs: object, *batch: object
        ) -> None:
            if not isinstance(outputs, dict) or not {"preds", "target"} <= set(outputs):
                raise ValueError(
                    'validation_step must return {"preds": scores, "target": labels}'
                )
            self.best.update(outputs["preds"], outputs["target"])

        def on_validation_epoch_end(self, trainer: Any, pl_module: Any) -> None:
            if trainer.sanity_checking:
                return
            values = {name: float(x) for name, x in self.best.compute().items()}
            metric = self.best.metric
            names = f"best_{metric.name}", "threshold", f"{metric.name}_at_half"
            pl_module.log_dict(dict(zip(names, values.values(), strict=True)))
            self.rule = Rule(metric, values["threshold"], score=values["score"])
            if trainer.is_global_zero:
                folder = Path(trainer.default_root_dir)
                folder.mkdir(parents=True, exist_ok=True)
                self.rule.save(self.path or folder / "rule.json")

        def state_dict(self) -> dict[str, Any]:
            return {"rule": None if self.rule is None else self.rule.to_dict()}

        def load_state_dict(self, state_dict: dict[str, Any]) -> None:
            saved = state_dict["rule"]
            self.rule = None if saved is None else Rule.from_dict(saved)

    return RuleCallback


def __getattr__(name: str) -> type[Any]:
    if name == "RuleCallback":
        return _define_classes()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
