"""A page of metrics comes in parts, and is the same as whole."""

from controlplane.domain.wire.exposition import (
    Form,
    HistogramWriter,
    Page,
    exemplar,
    labels_text,
    sample,
)

_TOOK = HistogramWriter("took", (1, 2))


def _page(form: Form) -> Page:
    page = Page(form)
    page.add("up_total", "counter", "Up.", (sample("up_total", f'i="{i}"', i) for i in range(9000)))
    page.add("took", "histogram", "Took.", [_TOOK.lines("", (3, 0, 4), 9.5)])
    page.add("long", "gauge", "Long.", [sample("long", f'is="{"x" * 300_000}"', 1)] * 2)
    return page


def test_a_large_page_is_given_in_parts_and_is_the_same_as_whole():
    parts = list(_page(Form.OPEN_METRICS).parts())
    assert len(parts) > 1
    assert b"".join(parts) == _page(Form.OPEN_METRICS).content()
    text = b"".join(parts).decode()
    assert text.startswith("# HELP up Up.\n# TYPE up counter\nup_total{")
    assert text.endswith("# EOF\n")


def test_a_histogram_without_labels_is_written_without_an_empty_pair_of_braces_before_its_edges():
    assert _TOOK.lines("", (3, 0, 4), 9.5) == (
        'took_bucket{le="1.0"} 3\ntook_bucket{le="2.0"} 3\ntook_bucket{le="+Inf"} 7\n'
        "took_count 7\ntook_sum 9.5\n"
    )


def test_numbers_may_be_texts_and_labels_may_hold_what_the_pattern_is_made_of():
    labels = labels_text(["m", "p"], ['50 % "off"\\', "%s"])
    exemplars = {1: exemplar('a"b\0', "1.5", "17.25")}
    assert _TOOK.lines(labels, ("3", "0", "4"), "9.5", exemplars) == (
        'took_bucket{m="50 % \\"off\\"\\\\",p="%s",le="1.0"} 3\n'
        'took_bucket{m="50 % \\"off\\"\\\\",p="%s",le="2.0"} 3 # {request_id="a\\"b"} 1.5 17.25\n'
        'took_bucket{m="50 % \\"off\\"\\\\",p="%s",le="+Inf"} 7\n'
        'took_count{m="50 % \\"off\\"\\\\",p="%s"} 7\ntook_sum{m="50 % \\"off\\"\\\\",p="%s"} 9.5\n'
    )


def test_a_histogram_that_counted_nothing_has_no_lines():
    assert _TOOK.lines("", (), 0.0) == _TOOK.lines("", (0, 0, 0), 0.0) == ""
