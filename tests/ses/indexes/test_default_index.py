"""The file that keeps the default index of each engine."""

import os
import stat

from ses.indexes.default_index import choose_index, chosen_index, default_file
from ses.settings import load_settings


def test_only_its_owner_can_read_it(tmp_path):
    settings = load_settings(data_dir=tmp_path, engine="embedded:here")
    before = os.umask(0)
    try:
        choose_index(settings, "papers")
    finally:
        os.umask(before)
    assert stat.S_IMODE(default_file(settings).stat().st_mode) == 0o600
    assert chosen_index(settings) == "papers"
