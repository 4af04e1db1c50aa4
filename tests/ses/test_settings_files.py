"""Files of settings: the user's own, and that of a folder, which may be a stranger's."""

from pathlib import Path

import pytest

from corpora.errors import InputError
from ses.setting_sources import own_file
from ses.settings import load_settings
from ses.terminal.checkup import origins

FOE, MINE = "https://foe.example", "https://mine.example:9200"
MINES = {"engine_token": "mine"}


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    """A folder to run in, and one for the user's own file."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")


def write(own="", folder=""):
    own_file().parent.mkdir(parents=True, exist_ok=True)
    own_file().write_text(own)
    Path("ses.toml").write_text(folder)


def test_the_folders_file_overrides_the_users_own(monkeypatch):
    write("threads = 2\nmodel = 'own'\nruntime = 'own'\n", "threads = 3\nmodel = 'folder'\n")
    monkeypatch.setenv("SES_THREADS", "4")
    settings = load_settings()
    assert (settings.threads, settings.model, settings.runtime) == (4, "folder", "own")
    places = {one.name: one.source for one in origins(settings, {})}
    assert (places["threads"], places["model"]) == ("SES_THREADS", str(Path("ses.toml").resolve()))
    assert places["runtime"] == str(own_file())


def test_the_users_own_folder_is_no_strangers(monkeypatch):
    write(f"engine = '{MINE}'\nengine_token = 'secret'\n")
    Path("ses.toml").unlink()
    monkeypatch.chdir(own_file().parent)
    monkeypatch.setenv("SES_ENGINE_TOKEN", "other")
    assert load_settings().connection.authorization == "Bearer other"


@pytest.mark.parametrize("secret", ["engine_username", "engine_api_key", "engine_token", "connector_key"])
@pytest.mark.parametrize("where", ["environment", "argument", "own"])
def test_secrets_do_not_go_to_an_engine_that_the_folder_names(where, secret, monkeypatch):
    write(f"{secret} = 'mine'" if where == "own" else "", f"engine = '{FOE}'")
    if where == "environment":
        monkeypatch.setenv(f"SES_{secret.upper()}", "mine")
    with pytest.raises(InputError) as refused:
        load_settings(**({secret: "mine"} if where == "argument" else {}))
    told = str(refused.value)
    assert f"names an engine ('{FOE}'), and {secret} is set elsewhere" in told
    assert "set SES_ENGINE or engine in " in told
    assert "mine" not in told.replace(str(own_file()), "")


def test_a_password_does_not_go_with_the_folders_user(monkeypatch):
    write("", f"engine = '{FOE}'\nengine_username = 'ada'\n")
    monkeypatch.setenv("SES_ENGINE_PASSWORD", "mine")
    with pytest.raises(InputError, match="engine_password is set elsewhere"):
        load_settings()


@pytest.mark.parametrize(
    ("own", "folder", "flags"),
    [
        ("", f"engine = '{FOE}'\nengine_token = 'theirs'", {}),
        ("", f"engine = '{FOE}'", {}),
        ("", f"engine = '{FOE}'", {"engine": MINE, "engine_token": "mine"}),
        ("", f"engine = '{FOE}'", {"engine": FOE, "engine_token": "mine"}),
        (f"engine = '{FOE}/'", f"engine = '{FOE}'", {"engine_token": "mine"}),
        (f"engine = '{MINE}'\nengine_token = 'mine'", "threads = 1", {}),
        ("engine_token = 'mine'", f"engine = '{FOE}'\nengine_token = 'theirs'", {}),
        ("", "engine = 'embedded:here'", {"engine_token": "mine"}),
    ],
)
def test_secrets_go_where_they_were_given_for(own, folder, flags):
    write(own, folder)
    settings = load_settings(**flags)
    if settings.engine_token == MINES["engine_token"]:
        assert settings.engine != FOE or flags.get("engine") == FOE or FOE in own
    if settings.engine == FOE and not flags:
        assert settings.engine_token in ("theirs", "")


def test_secrets_do_not_go_by_certificates_that_the_folder_names(monkeypatch):
    Path("ca.pem").write_text("")
    write("", "engine_ca = 'ca.pem'")
    monkeypatch.setenv("SES_ENGINE", MINE)
    assert load_settings().engine_ca == Path("ca.pem")
    monkeypatch.setenv("SES_ENGINE_TOKEN", "mine")
    with pytest.raises(InputError, match=r"names certificates \('ca.pem'\), and engine_token is set elsewhere"):
        load_settings()
    monkeypatch.setenv("SES_ENGINE_CA", "ca.pem")
    assert load_settings().connection.ca_file == Path("ca.pem")


def test_the_address_of_the_user_does_not_go_to_a_server_that_the_folder_names(monkeypatch):
    write("engine_token = 'mine'", f"crossref_url = '{FOE}'")
    assert load_settings().crossref_url == FOE
    write("contact = 'me@mine.example'", f"crossref_url = '{FOE}'")
    told = rf"names a server that looks up DOIs \('{FOE}'\), and contact is set elsewhere, .* set SES_CROSSREF_URL"
    with pytest.raises(InputError, match=told):
        load_settings()
    write("", f"crossref_url = '{FOE}'\ncontact = 'theirs@foe.example'")
    assert load_settings().contact == "theirs@foe.example"
    monkeypatch.setenv("SES_CONTACT", "me@mine.example")
    with pytest.raises(InputError, match=told):
        load_settings()
    assert load_settings(crossref_url=FOE).contact == "me@mine.example"
    write(f"crossref_url = '{FOE}/'", f"crossref_url = '{FOE}'")
    assert load_settings().contact == "me@mine.example"


def test_papers_of_another_cluster_are_read_without_credentials(caplog):
    settings = load_settings(engine=f"{MINE},https://second.example:9200", **MINES)
    for place in (f"{MINE}/papers", "https://second.example:9200/papers", "papers.csv"):
        assert settings.connection_to(place).authorization == "Bearer mine"
    assert not caplog.records
    assert settings.connection_to(f"{FOE}/papers").authorization == ""
    assert "The credentials are for https://mine" in caplog.text
    assert load_settings(**MINES).connection_to(f"{FOE}/papers").authorization == "Bearer mine"
