"""Sentences under an evaluation's figures are computed from its numbers, and say of each what it is."""

from coreplane import figures, sentences


def bars(**series: dict[str, float]) -> dict[str, object]:
    rows = [{"machine": m, "workload": w, "value": v} for m, own in series.items() for w, v in own.items()]
    return {"kind": "bars", "rows": rows}


def test_the_bar_of_the_mean_is_no_workload() -> None:
    said = sentences.of_bars(bars(a={"x": 1.0, "y": 3.0, "average": 2.0}, b={"x": 2.0, "y": 4.0, "average": 3.0}))
    assert said == "Means of 2 here: a 2, b 3. They are widest apart, 2.00 times, at x."
    assert sentences.of_bars(bars(a={"average": 2.0}, b={"average": 3.0})) == ""


def test_a_bar_of_nothing_beside_something_is_named() -> None:
    said = sentences.of_bars(bars(a={"x": 0.0, "y": 3.0, "z": 2.0}, b={"x": 5.0, "y": 4.0, "z": 8.0}))
    assert "a has none at x, where others have some." in said and said.endswith("4.00 times, at z.")
    assert "none" not in sentences.of_bars(bars(a={"x": 0.0, "y": 3.0}, b={"x": 0.0, "y": 4.0}))


def test_figures_over_time_say_where_each_series_is_highest() -> None:
    rows = [{"machine": m, "workload": "mix", "x": float(n), "value": v} for m, all in (("a", [1.0, 2.5, 2.0]), ("b", [0.0, 0.0, 0.0])) for n, v in enumerate(all)]
    assert sentences.of_bars({"kind": "time", "rows": rows}) == "Highest: a 2.500 at 1 s, b 0 throughout."


def test_a_group_that_would_flatten_the_others_is_cut_and_said() -> None:
    rows = [{"machine": m, "workload": w, "value": v} for m, values in {"a": (1.0, 1.2, 0.9, 12.0), "b": (1.5, 2.0, 1.1, 48.0)}.items() for w, v in zip("xyzh", values, strict=True)]
    assert sentences.axis_end(rows) == 2.5
    said = sentences.of_bars({"kind": "grouped", "rows": rows})
    assert "The axis ends below h: 12, 48." in said
    drawn = figures.grouped(rows, "t", "speedup", order=["a", "b"]).to_dict()
    assert drawn["layer"][0]["encoding"]["y"]["scale"]["domain"] == [0, 2.5] and drawn["layer"][1]["mark"]["type"] == "text"
    near = [r for r in rows if r["workload"] != "h"]
    assert sentences.axis_end(near) is None and "layer" not in figures.grouped(near, "t", "speedup", order=["a", "b"]).to_dict()
