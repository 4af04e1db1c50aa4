"""Values of settings, from the environment, `ses.toml` and Python."""

from pathlib import Path

import pytest

from corpora.errors import InputError
from ses.settings import load_settings


@pytest.mark.parametrize(
    ("name", "given", "value"),
    [
        ("threads", "4", 4),
        ("threads", 1024, 1024),
        ("threads", 2.0, 2),
        ("engine_timeout", "0.5", 0.5),
        ("engine_timeout", 3, 3.0),
        ("engine_patience", "0", 0.0),
        ("embedding_cache", "Off", False),
        ("embedding_cache", "0", False),
        ("embedding_cache", "no", False),
        ("embedding_cache", True, True),
        ("engine_compress", "YES", True),
        ("data_dir", "some/folder", Path("some/folder")),
        ("cache_dir", Path("x"), Path("x")),
        ("precision", "fp32", "fp32"),
        ("long_text", "ends", "ends"),
        ("runtime", "", ""),
        ("engine_password", "secret", "secret"),
    ],
)
def test_a_value_is_read(name, given, value):
    read = getattr(load_settings(**{name: given}), name)
    assert (read, type(read)) == (value, type(value))


@pytest.mark.parametrize(
    ("name", "given", "told"),
    [
        (
            "threads",
            "1025",
            "The setting threads can't be '1025' (give a whole number from 0 to 1,024); correct threads.",
        ),
        ("threads", -1, "(give a whole number from 0 to 1,024)"),
        ("threads", 1.5, "(give a whole number from 0 to 1,024)"),
        ("threads", True, "(give a whole number from 0 to 1,024)"),
        ("threads", "nan", "(give a whole number from 0 to 1,024)"),
        ("threads", "", "(give a whole number from 0 to 1,024)"),
        ("engine_shards", 0, "(give a whole number from 1 to 1,024)"),
        ("engine_timeout", 0, "(give a number above 0)"),
        ("engine_timeout", "nan", "(give a number above 0)"),
        ("engine_patience", -1, "(give a number of at least 0)"),
        ("embedding_cache", "maybe", "(give true or false)"),
        ("precision", "int4", "(give one of int8, bf16, fp32)"),
        ("precision", ["int8"], "(give one of int8, bf16, fp32)"),
        ("engine", 3, "The setting engine can't be 3 (give a text); correct engine."),
        ("tuned", 3, "(give a path)"),
        ("engine_ca", "/none", "(there is no such file)"),
        ("engine_ca", "", "(there is no such file)"),
        ("modle", "x", "There is no setting modle, the nearest is model; correct the argument."),
    ],
)
def test_a_wrong_value_says_what_to_give(name, given, told):
    with pytest.raises(InputError) as refused:
        load_settings(**{name: given})
    assert told in str(refused.value)


def test_secrets_are_not_shown():
    settings = load_settings(**dict.fromkeys(("engine_password", "engine_api_key", "engine_token"), "hush"))
    assert "hush" not in repr(settings)
    with pytest.raises(InputError) as refused:
        load_settings(engine_token=["hush"])
    assert "hush" not in str(refused.value)
    assert "can't be so (give a text)" in str(refused.value)


def test_variables_are_read_in_any_case_and_only_the_value_in_force_is_checked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("ses.toml").write_text("threads = -1\nlong_text = 'ends'\n")
    monkeypatch.setenv("ses_threads", "3")
    settings = load_settings(long_text=None)
    assert (settings.threads, settings.long_text) == (3, "ends")
    monkeypatch.delenv("ses_threads")
    with pytest.raises(InputError, match=r"The setting threads can't be -1 .*; correct it in ses\.toml\."):
        load_settings()
    monkeypatch.setenv("SES_THREADS", "many")
    with pytest.raises(InputError, match=r"The setting threads can't be 'many' .*; correct SES_THREADS\."):
        load_settings()
    assert load_settings(threads=2).threads == 2
