"""Hooks of training loops and of MONAI against the functions that they call."""

import importlib.util

import numpy as np
import pytest
from scipy.special import expit

import argmetric as am
from argmetric.integrations.transformers import RuleMetrics


def needs(*names):
    """Skip a test where a library is missing."""
    for name in names:
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed: make test-torch runs this test")
    return importlib.import_module(names[0])


def some_logits(n=200, labels=None, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(-1.0, 2.0, n if labels is None else (n, labels))
    return x, (rng.random(x.shape) < expit(x - 0.5)).astype(int)


# -- transformers -----------------------------------------------------------------


@pytest.mark.parametrize("metric", ["f1", "mcc"])
def test_the_best_threshold_of_one_label(metric, tmp_path):
    x, y = some_logits()
    path = tmp_path / "rule.json"
    metrics = RuleMetrics(metric, path=path)
    found = metrics((x, y))
    rule = am.tune(y, expit(x), metric)
    assert found[f"best_{metric}"] == pytest.approx(rule.score)
    assert found["threshold"] == pytest.approx(rule.threshold)
    assert found[f"{metric}_at_half"] == pytest.approx(
        float(am.evaluate(y, x >= 0, metric))
    )
    saved = am.Rule.load(path)
    assert saved.score == metrics.rule.score == pytest.approx(rule.score)
    assert saved.apply(expit(x)).tolist() == rule.apply(expit(x)).tolist()
    two = np.stack([np.zeros_like(x), x], axis=1)
    assert metrics((two, y)) == pytest.approx(found)
    assert metrics(((x[:, None], "hidden"), y)) == pytest.approx(found)
    plain = RuleMetrics(metric, logits=False)
    p = expit(x)
    assert plain((np.stack([1 - p, p], axis=1), y)) == pytest.approx(found)


@pytest.mark.parametrize("average", ["micro", "macro", "samples"])
def test_the_best_thresholds_of_many_labels(average):
    x, y = some_logits(labels=4)
    metrics = RuleMetrics(average=average)
    found = metrics((x, y))
    rule = am.tune(y, expit(x), "f1", average=average)
    half = am.evaluate(y, (x >= 0).astype(int), "f1", average=average)
    assert found["best_f1"] == pytest.approx(rule.score)
    assert found["f1_at_half"] == pytest.approx(float(half))
    # Probabilities of scipy and of numpy, whose last digit depends on the version
    np.testing.assert_array_max_ulp(metrics.rule.thresholds, rule.thresholds, 4)
    labels = metrics.rule.apply(expit(x)), rule.apply(expit(x))
    np.testing.assert_array_equal(*labels)


def test_shapes_that_are_refused():
    x, y = some_logits(labels=3)
    with pytest.raises(ValueError, match="labels have shape"):
        RuleMetrics()((x, y[:, 0]))
    with pytest.raises(ValueError, match="labels have shape"):
        RuleMetrics()((x[None], y[None]))
    with pytest.raises(ValueError, match="NaN"):
        RuleMetrics()((x * np.nan, y))


def test_trainer(tmp_path):
    transformers = needs("transformers", "torch", "accelerate")
    import torch

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(1, 1)

        def forward(self, x, labels=None):
            out = self.layer(x)[:, 0]
            loss = torch.nn.functional.binary_cross_entropy_with_logits(out, labels)
            return {"loss": loss, "logits": out}

    x, y = some_logits(64)
    rows = [
        {"x": torch.tensor([a], dtype=torch.float32), "labels": float(b)}
        for a, b in zip(x, y, strict=True)
    ]
    metrics = RuleMetrics("f1", path=tmp_path / "rule.json")
    trainer = transformers.Trainer(
        model=Net(),
        args=transformers.TrainingArguments(
            output_dir=str(tmp_path),
            num_train_epochs=2,
            report_to=[],
            use_cpu=True,
            eval_strategy="epoch",
            save_strategy="epoch",
            load_best_model_at_end=True,
            metric_for_best_model="best_f1",
            disable_tqdm=True,
        ),
        train_dataset=rows,
        eval_dataset=rows,
        compute_metrics=metrics,
    )
    trainer.train()
    found = trainer.evaluate()
    logits = trainer.predict(rows).predictions
    rule = am.Rule.load(tmp_path / "rule.json")
    assert found["eval_best_f1"] == rule.score
    assert found["eval_threshold"] == rule.threshold
    labels = rule.apply(expit(logits.astype(np.float64)))
    assert float(am.evaluate(y, labels)) == pytest.approx(rule.score)


# -- Lightning --------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")  # of Lightning
def test_lightning(tmp_path):
    lightning = needs("lightning", "torch")
    import torch

    from argmetric.integrations.lightning import RuleCallback

    x, y = some_logits(96)
    data = torch.utils.data.TensorDataset(
        torch.from_numpy(x).float()[:, None], torch.from_numpy(y).float()
    )

    class Net(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(1, 1)

        def training_step(self, batch, index):
            out = self.layer(batch[0])[:, 0]
            return torch.nn.functional.binary_cross_entropy_with_logits(out, batch[1])

        def validation_step(self, batch, index):
            return {"preds": self.layer(batch[0])[:, 0], "target": batch[1]}

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    class Silent(Net):
        def validation_step(self, batch, index):
            return None

    def trainer(*callbacks):
        return lightning.Trainer(
            max_epochs=2,
            accelerator="cpu",
            logger=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            default_root_dir=tmp_path,
            callbacks=list(callbacks),
        )

    rules, net = RuleCallback("f1", logits=True), Net()
    checkpoint = lightning.pytorch.callbacks.ModelCheckpoint(tmp_path, "best")
    loaders = (torch.utils.data.DataLoader(data, batch_size=32) for _ in range(2))
    run = trainer(rules, checkpoint)
    run.fit(net, *loaders)
    p = torch.sigmoid(net.layer(data.tensors[0])[:, 0]).detach()
    best = am.tensors.BestAchievable()
    best.update(p, data.tensors[1])
    known = best.compute()
    logged = {name: float(value) for name, value in run.callback_metrics.items()}
    assert logged["best_f1"] == pytest.approx(float(known["score"]))
    assert logged["threshold"] == pytest.approx(float(known["threshold"]))
    assert logged["f1_at_half"] == pytest.approx(float(known["at_half"]))
    saved = am.Rule.load(tmp_path / "rule.json")
    assert saved.threshold == rules.rule.threshold == float(known["threshold"])
    assert float(am.evaluate(y, saved.apply(p.double().numpy()))) == pytest.approx(
        saved.score
    )
    again = RuleCallback("f1", logits=True)
    held = torch.load(tmp_path / "best.ckpt", weights_only=True)["callbacks"]
    again.load_state_dict(held[again.state_key])
    assert again.rule.threshold == saved.threshold
    with pytest.raises(ValueError, match="validation_step must return"):
        trainer(RuleCallback()).validate(
            Silent(), torch.utils.data.DataLoader(data), verbose=False
        )


# -- MONAI ------------------------------------------------------------------------


def test_monai():
    transforms = needs("monai", "torch").transforms
    import torch

    from argmetric.integrations.monai import BestMasks, BestMasksd

    x = torch.randn(3, 12, 12, generator=torch.Generator().manual_seed(1)) * 3.0
    calibrator = am.tensors.MaskCalibrator((2.0,) * 3, (1.0,) * 3, "multiclass")
    settings = {"mode": "multiclass", "logits": True, "reference": calibrator}
    known = am.tensors.decide_masks(x[None], "iou", **settings).masks[0]
    one = BestMasks("iou", **settings)
    assert isinstance(one, transforms.Transform)
    assert torch.equal(one(x), known.float())
    assert one(x.numpy()).dtype == np.float32
    np.testing.assert_array_equal(one(x.numpy()), known.numpy())
    with_meta = importlib.import_module("monai.data").MetaTensor(x, meta={"name": "a"})
    assert one(with_meta).meta["name"] == "a"
    chain = transforms.Compose([BestMasksd(["pred"], metric="iou", **settings)])
    found = chain({"pred": x, "label": 3})
    assert torch.equal(found["pred"], known.float())
    assert found["label"] == 3
    with pytest.raises(KeyError):
        BestMasksd(["other"])({"pred": x})
    assert BestMasksd(["other"], allow_missing_keys=True)({"label": 3}) == {"label": 3}


@pytest.mark.parametrize(
    ("module", "name", "extra"),
    [("monai", "BestMasks", "monai"), ("lightning", "RuleCallback", "lightning")],
)
def test_the_error_of_a_missing_library_names_the_extra(
    module, name, extra, monkeypatch
):
    found = importlib.import_module(f"argmetric.integrations.{module}")
    found._define_classes.cache_clear()
    real = importlib.import_module

    def missing(wanted, *rest):
        if wanted.partition(".")[0] == module:
            raise ModuleNotFoundError(f"No module named {module!r}", name=module)
        return real(wanted, *rest)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(ModuleNotFoundError, match=rf"'argmetric\[{extra}\]'"):
        getattr(found, name)
    with pytest.raises(AttributeError, match="has no attribute"):
        found.Nothing  # noqa: B018
