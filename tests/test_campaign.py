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
