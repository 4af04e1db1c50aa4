"""Storages of block files: folders, and URLs of stores that fsspec reads."""

from __future__ import annotations

import errno
import os
import uuid

import pytest

from corpora.errors import InputError, UnavailableError
from indexer.storage import FolderStorage, storage_at

ADDRESS = ("127.0.0.1", 0)


@pytest.fixture(scope="module")
def s3():
    """URL of a bucket of a server that answers like S3."""
    import fsspec
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(*ADDRESS)
    server.start()
    host, port = server.get_host_and_port()
    given = {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
    }
    os.environ |= given
    fsspec.filesystem("s3").mkdir("bucket")
    yield "s3://bucket"
    server.stop()
    for name in given:
        del os.environ[name]


@pytest.fixture(params=["folder", "file", "memory", pytest.param("s3", marks=pytest.mark.s3)])
def place(request, tmp_path):
    """An empty place, as a user names it."""
    if request.param == "s3":
        return f"{request.getfixturevalue('s3')}/{uuid.uuid4()}"
    return {
        "folder": str(tmp_path / "a" / "b"),
        "file": f"file://{tmp_path}/a/b",
        "memory": f"memory://{uuid.uuid4()}/b/",
    }[request.param]


def test_files_are_written_read_listed_and_deleted(place):
    storage = storage_at(place)
    with pytest.raises(FileNotFoundError):
        storage.read("shard-1.json")
    storage.delete("shard-1.json")
    assert storage.names("shard-*.json") == []
    for name, content in (("shard-2.json", b"two"), ("shard-1.json", b"one"), ("0.bin", bytes(1 << 20))):
        storage.write(name, content)
    again = storage_at(str(storage))
    assert again.read("shard-1.json") == b"one"
    assert again.read("0.bin") == bytes(1 << 20)
    assert sorted(again.names("shard-*.json")) == ["shard-1.json", "shard-2.json"]
    storage.write("shard-1.json", b"new")
    assert again.read("shard-1.json") == b"new"
    storage.delete("shard-1.json")
    assert again.names("shard-*.json") == ["shard-2.json"]
    assert str(again) == str(storage)


@pytest.mark.parametrize("kind", ["folder", "memory"])
def test_the_oldest_file_comes_first(tmp_path, kind):
    storage = storage_at(tmp_path if kind == "folder" else f"memory://{uuid.uuid4()}")
    for name in ("b", "a", "c", "b"):
        storage.write(name, b"")
    assert storage.names("*") == ["a", "c", "b"]


@pytest.mark.parametrize("kind", ["file", "local"])
def test_a_file_url_is_a_folder(tmp_path, kind):
    assert storage_at(f"{kind}://{tmp_path}/x") == storage_at(tmp_path / "x") == FolderStorage(tmp_path / "x")


def test_a_url_may_name_a_cache_before_the_store():
    """As fsspec writes it."""
    name = uuid.uuid4()
    storage = storage_at(f"simplecache::memory://{name}/b")
    storage.write("x", b"one")
    assert storage.read("x") == storage_at(f"memory://{name}/b").read("x") == b"one"
    with pytest.raises(InputError, match="no storage of the kind simplecache::s4://"):
        storage_at("simplecache::s4://bucket/x")


def test_what_killed_processes_left_is_deleted(tmp_path):
    storage = storage_at(tmp_path)
    kept = tmp_path / "notes.part"
    parts = [tmp_path / f".{name}.0a1b2c3d.part" for name in ("0000001.safetensors", "0000002.safetensors")]
    for path in (kept, *parts):
        path.write_bytes(b"half")
    storage.clean(lambda name: name == "0000002.safetensors")
    assert [path.exists() for path in (kept, *parts)] == [True, True, False]
    storage.clean()
    assert [path.exists() for path in (kept, *parts)] == [True, False, False]


def test_a_place_of_an_unknown_kind_is_refused():
    with pytest.raises(InputError, match="no storage of the kind s4://; give a folder, or a URL such as s3://BUCKET"):
        storage_at("s4://bucket/x")


def test_a_missing_package_is_named(monkeypatch):
    import fsspec

    def missing(url):
        raise ImportError("Install s3fs to access S3\nand more")

    monkeypatch.setattr(fsspec.core, "url_to_fs", missing)
    with pytest.raises(
        UnavailableError, match=r"s3://b/x needs a package that is missing \(Install s3fs to access S3\)"
    ):
        storage_at("s3://b/x")


def test_a_store_that_refuses_is_told_in_a_sentence():
    storage = storage_at("memory://refusing/x")

    class Refusing:
        def __getattr__(self, name):
            def refuse(*given):
                raise RuntimeError("Access Denied.\nRequest 1234")

            return refuse

    storage = type(storage)(storage.url, Refusing(), storage.root)
    deeds = {
        "a can't be read": lambda: storage.read("a"),
        "a can't be written": lambda: storage.write("a", b""),
        "a can't be deleted": lambda: storage.delete("a"),
        "a\\* can't be listed": lambda: storage.names("a*"),
    }
    for said, deed in deeds.items():
        with pytest.raises(UnavailableError, match=rf"^memory://refusing/x/{said} \(Access Denied\); look whether"):
            deed()


@pytest.mark.s3
def test_a_bucket_that_is_not_there_is_told(s3):
    storage = storage_at("s3://nobucket/x")
    with pytest.raises(UnavailableError, match=r"s3://nobucket/x/a can't be written \(The specified bucket does not"):
        storage.write("a", b"")


def test_a_folder_that_refuses_is_told_in_a_sentence(tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"")
    inside = storage_at(tmp_path / "file")
    with pytest.raises(FileNotFoundError):
        inside.read("a")
    with pytest.raises(UnavailableError, match=r"file/a can't be written \(.*\); free some disk, or give another"):
        inside.write("a", b"")

    def refuse(path):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("pathlib.Path.read_bytes", refuse)
    with pytest.raises(UnavailableError, match=r"/a can't be read \(Permission denied\); look who may read it"):
        storage_at(tmp_path).read("a")
