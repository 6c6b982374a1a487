"""Only one `manage.py up` works on a data folder."""

from pathlib import Path

import pytest

from controlplane.processes.single import AlreadyRunning, hold_data_dir


def test_the_second_start_is_refused_with_the_first_ones_process(tmp_path: Path) -> None:
    with hold_data_dir(tmp_path), pytest.raises(AlreadyRunning, match=r"process \d+"):
        hold_data_dir(tmp_path)


def test_the_folder_is_free_again_after_the_first_has_ended(tmp_path: Path) -> None:
    hold_data_dir(tmp_path).close()
    hold_data_dir(tmp_path).close()
