"""The fixtures that every test gets without asking, but for those that do nothing for it.

With thousands of tests of a millisecond each, theirs is a large part of the time.
"""

import pytest

_FOR_A_MARK = {
    "_django_set_urlconf": "urls",
    "_django_isolate_apps": "django_isolate_apps",
    "_template_string_if_invalid_marker": "ignore_template_errors",
}
"""pytest-django's that look for a mark, and the mark."""
_FOR_THE_DATABASE = ("_django_db_marker", "_live_server_helper", "all_is_answered")
_FOR_NOBODY = ("_dj_autoclear_mailbox", "_django_clear_site_cache")
"""No mail is sent, and there are no sites."""
_WITH_DATABASE = {"db", "transactional_db", "live_server", "django_db_setup"}


def needed_fixtures(item: pytest.Function) -> list[str]:
    """Return the names of the fixtures that have something to do for this test."""
    idle = {name for name, mark in _FOR_A_MARK.items() if not item.get_closest_marker(mark)}
    if not (item.get_closest_marker("django_db") or _WITH_DATABASE & {*item.fixturenames}):
        idle.update(_FOR_THE_DATABASE)
    idle.update(_FOR_NOBODY)
    return [name for name in item.fixturenames if name not in idle]
