"""A deployment's page has the charts that its engines can fill, each line with its label."""

from dataclasses import replace

import pytest

from apps.deployments.metrics.panels import Measures, chart_panels, missing_charts

EVERYTHING = Measures(makes_text=True, has_drafts=True, looks_prompts_up=True, has_gpus=True)


def test_each_line_of_a_chart_has_a_label() -> None:
    charts = chart_panels(EVERYTHING)
    assert len({each.name for each in charts}) == len(charts)
    assert all(each.series.count(",") == each.labels.count(",") for each in charts)
    assert missing_charts(EVERYTHING) == []


@pytest.mark.parametrize(
    ("lacks", "without", "told"),
    [
        (("has_drafts",), {"accepted", "tokens-per-step"}, []),
        (("makes_text", "has_drafts", "looks_prompts_up"),
         {"first-token", "inter-token", "kv-used", "cached", "accepted", "tokens-per-step"}, []),
        (("looks_prompts_up", "has_gpus"), {"cached", "gpu-used"},
         ["Prompt cache hits: no engine of it has looked a prompt up",
          "GPU utilization: it runs on a CPU"]),
    ],
)  # fmt: skip
def test_what_its_engines_do_not_report_has_no_chart(
    lacks: tuple[str, ...], without: set[str], told: list[str]
) -> None:
    text = replace(EVERYTHING, **dict.fromkeys(lacks, False))
    every = {each.name for each in chart_panels(EVERYTHING)}
    assert every - {each.name for each in chart_panels(text)} == without
    assert missing_charts(text) == told
