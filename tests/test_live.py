"""Table 1 measured on a real Redis."""

import shutil

import pytest

from conftest import Cli


def test_only_one_paper_is_measured_live(cli: Cli) -> None:
    assert "give pberry" in cli.refuses("reproduce", "asap", "--live")
    assert "give one paper" in cli.refuses("reproduce", "all", "--live")


@pytest.mark.skipif(shutil.which("redis-server") is None, reason="redis-server is not installed")
def test_table_1_is_measured_beside_published_and_simulated(cli: Cli) -> None:
    rows = cli.json("reproduce", "pberry", "--live")
    assert [r["workload"] for r in rows] == ["redis-random", "redis-seq"]
    for row in rows:
        assert set(row["simulated"]) == {"bytes_stored", "content_difference", "write_backs_seen"}
        pages, huge, lines = row["measured"]["content_difference"]
        assert 0 < lines < 1 and lines <= pages <= huge < 1 and row["requests_a_window"] > 0
        assert row["pages_written_for_each_changed"] > 0 and len(row["published"]) == 3
    # At random few bytes of a page change, whatever the machine.
    assert rows[0]["measured"]["content_difference"][0] > 0.5
