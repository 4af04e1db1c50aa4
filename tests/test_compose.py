"""What must hold for the containers, read from their files: there is no Docker where tests run."""

from __future__ import annotations

import ast
import re
import shlex
import tomllib
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from ses.service.settings import NAMES, ServiceSettings
from ses.settings import SETTINGS

pytestmark = pytest.mark.lint

ROOT = Path(__file__).parents[1]
SERVERS = ("opensearch", "elasticsearch")
VARIABLE = re.compile(r"\$\{(\w+):-([^}]*)\}")
UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def interpolated(variables):
    return yaml.safe_load(VARIABLE.sub(lambda found: variables.get(found[1]) or found[2], read("docker-compose.yml")))


@pytest.fixture(scope="module")
def compose():
    return interpolated({})


@pytest.fixture(scope="module")
def project():
    return tomllib.loads(read("pyproject.toml"))


@pytest.fixture(scope="module")
def instructions():
    """The Dockerfile's instructions, as (name, words)."""
    lines = re.sub(r"^#.*\n", "", read("Dockerfile"), flags=re.MULTILINE).replace("\\\n", " ").splitlines()
    return [(words[0], words[1:]) for words in map(shlex.split, lines) if words]


def size(text):
    return int(text[:-1]) * UNITS[text[-1].lower()]


def heap(service):
    options = next(text for name, text in service["environment"].items() if name.endswith("_JAVA_OPTS"))
    least, most = (re.search(rf"-{name}(\S+)", options)[1] for name in ("Xms", "Xmx"))
    assert least == most
    return size(most)


def test_every_variable_has_a_default():
    assert "$" not in VARIABLE.sub("", read("docker-compose.yml"))


def test_images_are_pinned_short_names(compose, instructions):
    images = [compose["services"][name]["image"] for name in SERVERS]
    images += [words[0] for name, words in instructions if name == "FROM"]
    for image in images:
        name, _, tag = image.partition(":")
        assert "." not in name
        assert re.match(r"\d+\.\d+", tag), image


@pytest.mark.parametrize("name", SERVERS)
def test_a_server_is_bounded_and_checked(compose, name):
    server = compose["services"][name]
    assert size(server["mem_limit"]) > 0
    assert server["ulimits"] == {"memlock": {"soft": -1, "hard": -1}, "nofile": {"soft": 65536, "hard": 65536}}
    assert server["environment"]["bootstrap.memory_lock"] == "true"
    assert server["environment"]["discovery.type"] == "single-node"
    command, url = server["healthcheck"]["test"][1], urlsplit(server["healthcheck"]["test"][-1])
    assert command == "curl"
    assert "--fail" in server["healthcheck"]["test"]
    assert (url.port, url.path) == (9200, "/_cluster/health")
    # curl is to have its answer, red or not, before Docker gives up on it.
    assert float(re.search(r"timeout=(\d+)s", url.query)[1]) < float(server["healthcheck"]["timeout"].rstrip("s"))


@pytest.mark.parametrize("name", SERVERS)
@pytest.mark.parametrize("variables", [{}, {"SES_HEAP": "2g", "SES_MEMORY": "4g"}])
def test_the_heap_is_at_most_half_of_the_memory(name, variables):
    server = interpolated(variables)["services"][name]
    assert heap(server) == size(variables.get("SES_HEAP", "1g"))
    assert 2 * heap(server) <= size(server["mem_limit"])


def test_ports_are_open_to_this_machine_only_and_differ(compose):
    ports = [(name, port) for name, service in compose["services"].items() for port in service.get("ports", ())]
    assert len(ports) == len(dict(ports)) == len(SERVERS) + 1
    assert len({port for _, port in ports}) == len(ports)
    for name, port in ports:
        address, published, target = port.split(":")
        assert address == "127.0.0.1"
        assert published.isdigit()
        assert int(target) == (9200 if name in SERVERS else ServiceSettings().port)
    assert all("network_mode" not in service for service in compose["services"].values())


def test_opensearch_alone_starts_unasked(compose):
    profiles = {name: service.get("profiles") for name, service in compose["services"].items()}
    assert profiles == {"opensearch": None, "elasticsearch": ["elasticsearch"], "ses": ["tools"], "serve": ["serve"]}


def test_no_service_may_gain_rights(compose):
    for service in compose["services"].values():
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert "privileged" not in service


def test_ses_waits_for_the_server_it_is_given(compose):
    tool = compose["services"]["ses"]
    engine = urlsplit(tool["environment"]["SES_ENGINE"])
    assert engine.port == 9200
    assert "profiles" not in compose["services"][engine.hostname]
    assert tool["depends_on"] == {engine.hostname: {"condition": "service_healthy"}}
    for name in tool["environment"]:
        assert name.removeprefix("SES_").lower() in SETTINGS


def test_the_service_is_read_only_and_checked_by_whether_it_is_ready(compose, instructions):
    served, tool = compose["services"]["serve"], compose["services"]["ses"]
    assert served["image"] == tool["image"]
    assert served["read_only"] is True
    assert served["tmpfs"] == ["/tmp"]  # noqa: S108 - of the container
    assert served["depends_on"] == tool["depends_on"]
    assert served["command"] == ["serve"]
    for name in served["environment"].keys() - tool["environment"].keys():
        assert name.removeprefix("SES_SERVE_").lower() in NAMES
    assert served["environment"]["SES_SERVE_HOST"] == "0.0.0.0"  # noqa: S104 - the port is published on 127.0.0.1
    command, flag, program = served["healthcheck"]["test"][1:]
    assert (command, flag) == ("python", "-c")
    (address,) = re.findall(r"urlopen\('([^']+)'", program)
    assert urlsplit(address).path == "/readyz"
    assert urlsplit(address).port == ServiceSettings().port
    ast.parse(program)
    assert size(served["mem_limit"]) > 0
    assert not any(isinstance(mount, dict) for mount in served["volumes"])


def test_what_is_to_last_is_in_named_volumes(compose, instructions):
    mounts = [mount for service in compose["services"].values() for mount in service["volumes"]]
    named = dict(mount.split(":") for mount in dict.fromkeys(mount for mount in mounts if isinstance(mount, str)))
    assert named.keys() == compose["volumes"].keys()
    settings = dict(word.split("=", 1) for name, words in instructions if name == "ENV" for word in words)
    assert {settings["SES_DATA_DIR"], settings["SES_CACHE_DIR"]} == {named["data"], named["cache"]}
    assert PurePosixPath(settings["HF_HOME"]).is_relative_to(named["cache"])


def test_the_papers_are_mounted_read_only(compose):
    mounts = [mount for mount in compose["services"]["ses"]["volumes"] if isinstance(mount, dict)]
    assert [(mount["type"], mount["target"], mount["read_only"]) for mount in mounts] == [("bind", "/papers", True)]
    chosen = interpolated({"SES_PAPERS": "/srv/papers"})["services"]["ses"]["volumes"]
    assert next(mount["source"] for mount in chosen if isinstance(mount, dict)) == "/srv/papers"


def test_the_image_runs_ses_as_nobody_in_particular(instructions):
    last = dict(instructions)
    assert last["ENTRYPOINT"] == ["[ses]"]
    user = last["USER"][0].partition(":")[0]
    assert int(user) > 0
    assert f"useradd --uid {user}" in read("Dockerfile")


PINNED = re.compile(r"^([\w.-]+)==([^\s;]+)", re.MULTILINE)
EXTRAS = ("opensearch", "elasticsearch", "pubmed", "serve", "telemetry")


def locked(name):
    """The packages that a lock names, with the version of each, and its text."""
    text = read(f"requirements/{name}.lock")
    return {canonicalize_name(one): Version(version) for one, version in PINNED.findall(text)}, text


@pytest.mark.parametrize("name", ["image", "build"])
def test_a_lock_has_hashes_and_names_no_host(name):
    packages, text = locked(name)
    entries = re.split(r"^(?=\S)", text, flags=re.MULTILINE)[1:]
    assert len(entries) == len(packages)
    for entry in entries:
        assert re.fullmatch(r"[\w.-]+==\S+( ; [^\n\\]+)?( \\\n    --hash=sha256:[0-9a-f]{64})+\n", entry), entry


def test_the_image_installs_what_the_project_asks_for(project):
    declared = project["project"]
    wanted = [*declared["dependencies"], *(one for extra in EXTRAS for one in declared["optional-dependencies"][extra])]
    assert set(EXTRAS) == set(re.findall(r"--extra (\w+)", read("Makefile")))
    model = re.search(r"^MODEL_PACKAGE := (\S+)$", read("Makefile"), re.MULTILINE)[1]
    for name, listed in (("image", [*wanted, model]), ("build", project["build-system"]["requires"])):
        packages, _ = locked(name)
        for requirement in map(Requirement, listed):
            assert packages[canonicalize_name(requirement.name)] in requirement.specifier, (
                f"run make lock: {requirement}"
            )
    assert not {"torch", "transformers"} & locked("image")[0].keys()


def test_the_image_installs_only_what_is_locked(instructions):
    commands = "&&".join(" ".join(words) for name, words in instructions if name == "RUN").split("&&")
    installing = [shlex.split(command) for command in commands if "pip " in command]
    assert len(installing) == 4
    for words in installing:
        assert "--no-deps" in words
        lock = next((PurePosixPath(words[place + 1]) for place, word in enumerate(words) if word == "-r"), None)
        assert "--no-index" in words if lock is None else "--require-hashes" in words
        assert lock is None or (ROOT / "requirements" / lock.name).is_file()
        assert "install" in words or "--no-build-isolation" in words


def ignored(path):
    """Whether the builder never sees a file, by Docker's rule: the last line that speaks of it decides."""
    answer = False
    parts = PurePosixPath(path).parts
    for line in read(".dockerignore").splitlines():
        pattern = line.removeprefix("!")
        if not line or line.startswith("#"):
            continue
        if pattern.startswith("**/"):
            matches = any(fnmatch(part, pattern.removeprefix("**/")) for part in parts)
        else:
            matches = fnmatch(parts[0], pattern)
        if matches:
            answer = not line.startswith("!")
    return answer


def test_the_builder_sees_the_package_and_nothing_else(project):
    needed = {"pyproject.toml", "requirements", project["project"]["readme"], *project["project"]["license-files"]}
    needed |= set(project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"])
    seen = {path.name for path in ROOT.iterdir() if not ignored(path.name)}
    assert seen == needed
    assert not ignored("search_plugin/filters/grammar.lark")
    for secret in (".env", ".git/config", "ses/__pycache__/cli.pyc", "ses.toml", "papers/metadata.csv"):
        assert ignored(secret)
