"""Findings by severity, one line each, with the place by which a fix is asked for."""

from apps.configs.findings import finding_groups, finding_views


def test_findings_stand_by_severity_with_their_first_sentence_apart() -> None:
    reports = [("error", "It breaks. Because of this."), ("warning", "Slow."), ("hint", "Better."),
            ("hint", "Other.")]  # fmt: skip
    views = finding_views(
        [{"severity": severity, "message": statement} for severity, statement in reports]
    )
    groups = finding_groups(views)
    assert [group.title for group in groups] == ["1 blocking", "1 warning", "2 notes"]
    assert [group.is_open for group in groups] == [True, True, False]
    assert [view.index for view in groups[2].views] == [2, 3]
    assert [view.rest for view in views] == ["Because of this.", "", "", ""]
