"""Indexes a corpus in a process to be killed: `python -m tests.indexer.child FOLDER CORPUS INDEX FLAG URL`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.indexer.jobs import make_job, run_job

if __name__ == "__main__":
    folder, corpus, (index, flag, url) = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]
    job = make_job(folder, corpus, index, fresh=flag == "fresh")
    job.encoder()  # imports and loads, so that what follows is all indexing
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    report = run_job(folder, job, url)
    sys.stdout.write(json.dumps(report.to_dict()) + "\n")
