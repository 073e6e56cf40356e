"""Spark: decide groups that are whole in their partition, as Arrow tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from argmetric._ground.arguments import check_flag, shown
from argmetric._ground.lazy import load_module
from argmetric.integrations._tables import check_columns, decide_table, read_settings
from argmetric.metrics import MetricLike, get_metric


def decide(
    df: Any,
    *,
    p: str,
    groups: str,
    metric: MetricLike = "f1",
    output: str = "decision",
    repartition: bool = True,
    **settings: object,
) -> Any:
    """Return a Spark DataFrame with one more column: the labels of `decide`.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        The rows.
    p, groups : str
        Columns of the probabilities and of the groups.
    metric : str, Metric or callable, default="f1"
        Metric that scores each group.
    output : str, default="decision"
        Name of the new column.
    repartition : bool, default=True
        Bring each group into one partition first. With False the rows stay where they
        are; a pass over the groups checks that no partition splits one.
    **settings
        As for `decide_table`. A worker holds one partition at a time in memory, and
        fails where a score, group or cost is NULL or NaN: drop or fill it first.

    Returns
    -------
    pyspark.sql.DataFrame
        The rows with the new column, computed when Spark needs it.
    """
    types = load_module("pyspark.sql.types")
    if not hasattr(df, "mapInArrow"):
        raise TypeError(
            f"df must be a DataFrame of Spark, not {type(df).__name__}: "
            "integrations.decide_table takes others"
        )
    options = read_settings(settings)
    budget = options.get("budget")
    cost = [budget[0]] if isinstance(budget, tuple | list) else []
    check_columns(df.columns, p, groups, *cost, output=output)
    metric = get_metric(metric)
    if check_flag(repartition, "repartition"):
        df = df.repartition(groups)
    else:
        _refuse_split_groups(df, groups)
    options |= {"p": p, "groups": groups, "metric": metric, "output": output}

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        rows = list(batches)
        if rows:
            yield from decide_table(pa.Table.from_batches(rows), **options).to_batches()

    schema = types.StructType(
        [*df.schema.fields, types.StructField(output, types.LongType())]
    )
    return df.mapInArrow(work, schema)


def _refuse_split_groups(df: Any, groups: str) -> None:
    """Raise an error if the rows of a group lie in more than one partition."""
    functions = load_module("pyspark.sql.functions")
    place = functions.spark_partition_id().alias("place")
    places = functions.count_distinct("place").alias("places")
    rows = df.select(df[groups].alias("group"), place).groupBy("group").agg(places)
    split = rows.where("places > 1").first()
    if split is not None:
        raise ValueError(
            f"partitions split the group {shown(split[0])}: pass repartition=True, or "
            f"df.repartition({groups!r})"
        )
