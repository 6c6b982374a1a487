"""Templates that come to nothing: the request is refused, and the checkpoint named."""

import shutil
from pathlib import Path

import pytest

from workers.engine.errors import RequestRefused
from workers.engine.tokenizer import TextCodec

pytestmark = pytest.mark.engine


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{{ raise_exception('the user speaks first') }}", "the user speaks first"),
        ("{% for each in messages %}", "endfor"),
        ("{{ messages[0].a.b }}", "no attribute 'a'"),
        ("{{ 1 / 0 }}", "ZeroDivisionError"),
        ("{{ messages | map('nothing') | list }}", "nothing"),
        ("{% macro again() %}{{ again() }}{% endmacro %}{{ again() }}", "Recursion"),
    ],
)
def test_a_template_that_fails_is_named_as_the_cause(
    checkpoint: Path, tmp_path: Path, template: str, said: str
) -> None:
    folder = Path(shutil.copytree(checkpoint, tmp_path / "changed"))
    (folder / "chat_template.jinja").write_text(template)
    with pytest.raises(RequestRefused, match="chat template refused the messages") as refused:
        TextCodec(folder).render_chat([{"role": "user", "content": "hello"}], {})
    assert said in refused.value.message
