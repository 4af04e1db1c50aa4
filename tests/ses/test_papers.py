import pytest

import ses
from corpora.errors import InputError
from ses.papers import of_corpus
from tests.commands import ses as run

TEXT = "id,title\n1,Über die Behandlung\n"


def test_a_file_in_a_named_encoding(tmp_path):
    path = tmp_path / "papers.csv"
    path.write_bytes(TEXT.encode("latin-1"))
    (record,) = of_corpus("csv", path, tmp_path, columns={}, encoding="latin-1").records()
    assert record.paper.title == "Über die Behandlung"
    (bad,) = of_corpus("csv", path, tmp_path, columns={}).records()
    assert "bytes that aren't UTF-8 (if the whole file is in another encoding, name it)" in bad.reason
    with pytest.raises(InputError, match="no encoding 'klingon'"):
        of_corpus("csv", path, tmp_path, columns={}, encoding="klingon")


def test_papers_of_a_program_have_no_encoding(tmp_path):
    library = ses.open(tmp_path / "library", data_dir=tmp_path)
    with pytest.raises(InputError, match="Papers of a program have no encoding; leave encoding out"):
        library.index("mine", [{"id": "1", "title": "t"}], encoding="latin-1")


def test_the_command_names_the_option(tmp_path):
    path = tmp_path / "papers.csv"
    path.write_bytes((TEXT * 300).replace("Behandlung", "äöü" * 20).encode("latin-1"))
    done = run(tmp_path, "index", "--corpus", "csv", "--path", path)
    assert (done.returncode, "--encoding cp1252" in done.stderr) == (2, True)
    done = run(tmp_path, "index", "--corpus", "csv", "--path", path, "--encoding", "klingon")
    assert (done.returncode, "There is no encoding 'klingon'; give --encoding as Python" in done.stderr) == (2, True)
