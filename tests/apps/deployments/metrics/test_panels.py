"""A deployment's page has the charts that its engines can fill, each line with its label."""

import pytest

from apps.deployments.metrics.panels import chart_panels


def test_each_line_of_a_chart_has_a_label() -> None:
    charts = chart_panels(makes_text=True, has_drafts=True)
    assert len({each.name for each in charts}) == len(charts)
    assert all(each.series.count(",") == each.labels.count(",") for each in charts)


@pytest.mark.parametrize(
    ("makes_text", "has_drafts", "without"),
    [
        (False, False, {"first-token", "inter-token", "kv-used", "cached", "accepted",
                        "tokens-per-step"}),
        (True, False, {"accepted", "tokens-per-step"}),
    ],
)  # fmt: skip
def test_what_its_engines_do_not_report_has_no_chart(
    makes_text: bool, has_drafts: bool, without: set[str]
) -> None:
    every = {each.name for each in chart_panels(makes_text=True, has_drafts=True)}
    some = {each.name for each in chart_panels(makes_text=makes_text, has_drafts=has_drafts)}
    assert every - some == without
