from corpora.paper import Deleted, Rejected
from corpora.reading import read_each


def test_rejections_in_a_folder_name_their_file(tmp_path):
    files = [tmp_path / "a", tmp_path / "b" / "c"]
    records = list(read_each(tmp_path, files, lambda file: iter([Rejected(1, "Why.", "id"), Deleted(2, file.name)])))
    assert records == [Rejected(1, "a: Why.", "id"), Deleted(2, "a"), Rejected(1, "b/c: Why.", "id"), Deleted(2, "c")]
    assert list(read_each(files[0], files[:1], lambda file: iter([Rejected(1, "Why.")]))) == [Rejected(1, "Why.")]
