from controlplane.domain.dotted import set_at, value_at


def test_a_dotted_path_reads_what_stands_there_and_none_where_nothing_does() -> None:
    content = {"build": {"limits": {"max_batch_size": 8}}, "name": "x"}
    assert value_at(content, "build.limits.max_batch_size") == 8
    assert value_at(content, "build.limits.none.deeper") is None
    assert value_at(content, "name.deeper") is None


def test_setting_a_dotted_path_makes_the_blocks_on_the_way() -> None:
    content = {"build": {"kept": 1}}
    set_at(content, "build.limits.max_batch_size", 8)
    assert content == {"build": {"kept": 1, "limits": {"max_batch_size": 8}}}
