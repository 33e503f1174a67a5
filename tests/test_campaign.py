"""Figures of a campaign: one key across, a panel for each value of another, the rest at a value that is said."""

from itertools import product
from typing import Any

from coreplane import campaign


def rows(machines: tuple[str, ...] = ("a", "b"), seeds: tuple[int, ...] = (1,), **varied: list[Any]) -> list[dict[str, Any]]:
    """Runs of every combination; ``a`` gains with ``x`` where ``y`` is 1, and loses where it is 2, so that its mean says nothing."""
    found = []
    for machine, seed, *values in product(machines, seeds, *varied.values()):
        at = dict(zip(varied, values, strict=True))
        x = at.get("x", 1)
        rate = 1e6 * (x if at.get("y", 1) == 1 else 9 - x) if machine == "a" else 1e6
        found.append({"machine": machine, "workload": "w", "seed": seed, "rate": rate + seed, **at})
    return found


def test_what_a_second_key_turns_round_is_said_for_each_of_its_values() -> None:
    all_rows = rows(x=[1, 4, 8], y=[1, 2])
    keys = campaign.axes(all_rows, ["x", "y"])
    assert keys == ["x", "y"]
    look = campaign.look(all_rows, "x", keys)
    assert look.second == "y" and look.values == [1, 2] and look.fixed == {}
    said = campaign.effect(look)
    assert said.startswith("x: a does most at 8, 8.00 times as much as at 1 (with y 1), does most at 1, 8.00 times as much as at 8 (with y 2); b does not depend on it"), said
    assert campaign.under(look) == "A point is a run. There is a panel for each value of y. b does 0.13 times as much as a at 8 (y 1), 1.00 times at 1 (y 1)."
    drawn = campaign.lines(look).to_dict()
    assert len(drawn["vconcat"]) == 1 and drawn["vconcat"][0]["facet"]["column"]["title"] == "y; across: x"
    points = next(iter(drawn["datasets"].values()))
    assert {(p["panel"], p["x"], p["value"]) for p in points if p["machine"] == "a"} >= {("1", 8, 8.000001), ("2", 8, 1.000001)}


def test_more_keys_stand_at_a_value_that_is_said() -> None:
    all_rows = rows(x=[1, 4, 8], y=[1, 2], z=[5, 7])
    look = campaign.look(all_rows, "x", campaign.axes(all_rows, ["x", "y", "z"]))
    assert look.fixed == {"z": 5} and {r["z"] for r in look.rows} == {5}
    assert "All of it with z at 5; the table below has the other values." in campaign.under(look)
    assert campaign.effect(look).endswith(", with z at 5.")


def test_many_values_are_some_of_them_and_one_machine_has_lines_of_its_own() -> None:
    all_rows = rows(machines=("a",), seeds=(1, 2), x=list(range(1, 21)), y=list(range(1, 12)))
    look = campaign.look(all_rows, "x", ["x", "y"])
    assert look.values == [1, 3, 5, 7, 9, 11] and look.all_values == 11
    assert campaign.under(look).startswith("A point is the mean of 2 seeds, a line reaches from the least to the greatest. There is a line for each of 6 among the 11 values of y.")
    assert "vconcat" not in campaign.lines(look).to_dict()


def test_a_key_of_one_value_and_words_have_their_places() -> None:
    all_rows = rows(x=[1], mode=["fast", "slow", "fast2"])
    assert campaign.axes(all_rows, ["x", "mode"]) == ["mode"]
    look = campaign.look(all_rows, "mode", ["mode"])
    assert look.second is None and campaign.lines(look).to_dict()["layer"]


def timed(time: float, **row: Any) -> dict[str, Any]:
    """A run that counts no operations, as a recording without marks is."""
    return {"machine": "a", "workload": "trace:r.cpt", "seed": 1, "rate": None, "time_ns": time, **row}


def test_a_run_that_counts_no_operations_is_judged_by_its_time() -> None:
    all_rows = [timed(100.0, x=1), timed(500.0, x=2)]
    (look,) = campaign.looks(all_rows, "x", ["x"])
    assert campaign.effect(look) == "x, by the time of a run: a is fastest at 1, 5.00 times as fast as at 2."
    assert "Its time, the less the better" in campaign.under(look)
    drawn = campaign.lines(look).to_dict()
    assert drawn["layer"][0]["encoding"]["y"]["title"] == "time, ns"
    assert [point["value"] for point in next(iter(drawn["datasets"].values()))] == [100.0, 500.0]
    both = [*all_rows, timed(250.0, x=1, machine="b"), timed(500.0, x=2, machine="b")]
    assert "b is 0.40 times as fast as a at 1, 1.00 times at 2." in campaign.under(campaign.looks(both, "x", ["x"])[0])
    assert campaign.bars(both).to_dict()["encoding"]["y"]["title"] == "time, ns"


def test_times_do_not_hide_in_a_mean_of_rates() -> None:
    all_rows = [*rows(machines=("b",), x=[1, 2]), timed(100.0, x=1), timed(500.0, x=2)]
    rated, by_time = campaign.looks(all_rows, "x", ["x"])
    assert campaign.effect(rated) == "x in w: b does not depend on it (within 2 %)."
    assert campaign.effect(by_time) == "x in trace:r.cpt, by the time of a run: a is fastest at 1, 5.00 times as fast as at 2."
    more = [*all_rows, timed(100.0, x=1, workload="trace:s.cpt"), timed(500.0, x=2, workload="trace:s.cpt")]
    said = campaign.effect(campaign.looks(more, "x", ["x"])[1])
    assert said.startswith("x over the 2 workloads that count no operations (geometric mean; each of them may go its own way), by the time of a run: a is fastest at 1, 5.00 times"), said


def test_nothing_is_said_of_work_that_takes_no_time() -> None:
    (look,) = campaign.looks([timed(0.0, x=1), timed(0.0, x=2)], "x", ["x"])
    assert campaign.effect(look) == ""
    assert campaign.lines(look).to_dict()["layer"]
