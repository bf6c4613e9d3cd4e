"""What an updated run takes from the folder of the earlier one, which may be somebody else's."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from alloykit.finished_runs.link_outputs import link_outputs
from alloykit.run_folder.file_names import CACHE, STATES


@pytest.mark.parametrize("copied", [False, True])
def test_a_link_to_a_private_file_is_not_taken(copied: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def other_disk(*_: Any, **__: Any) -> None:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))

    if copied:
        monkeypatch.setattr(os, "link", other_disk)
    (tmp_path / "key").write_text("secret")
    earlier, run = tmp_path / "earlier", tmp_path / "run"
    (earlier / CACHE / "shards").mkdir(parents=True)
    (earlier / CACHE / "shards" / "1.json").write_text("own")
    (earlier / CACHE / "teachers" / "billing").mkdir(parents=True)
    for place in (earlier / CACHE / "shards" / "2.json", earlier / CACHE / "key", earlier / STATES):
        place.symlink_to(tmp_path / "key")
    link_outputs(earlier, run, ["billing"])
    assert [path.relative_to(run) for path in run.rglob("*") if not path.is_dir()] == [Path(CACHE, "shards", "1.json")]
