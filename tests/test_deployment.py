"""What must hold for Kubernetes and systemd, read from their files: neither runs where tests run."""

from __future__ import annotations

import configparser
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from ses.service.settings import NAMES, ServiceSettings
from ses.settings import SETTINGS

pytestmark = pytest.mark.lint

FOLDER = Path(__file__).parents[1] / "docs" / "serving"


@pytest.fixture(scope="module")
def manifests():
    documents = yaml.safe_load_all((FOLDER / "kubernetes.yaml").read_text(encoding="utf-8"))
    return {document["kind"]: document for document in documents}


@pytest.fixture(scope="module")
def unit():
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.optionxform = str
    parser.read(FOLDER / "ses.service", encoding="utf-8")
    return parser


def test_the_manifests_are_valid(manifests):
    kubernetes_validate = pytest.importorskip("kubernetes_validate")
    for document in manifests.values():
        kubernetes_validate.validate(document, "1.30", strict=True)
    manifests["Deployment"]["spec"]["replica"] = 2
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(manifests["Deployment"], "1.30", strict=True)
    del manifests["Deployment"]["spec"]["replica"]


def test_the_pod_gains_no_rights_and_writes_only_its_volumes(manifests):
    pod = manifests["Deployment"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}
    assert "memory" in container["resources"]["limits"]


def test_the_probes_ask_the_service_itself(manifests):
    pod = manifests["Deployment"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    (port,) = container["ports"]
    assert port["containerPort"] == ServiceSettings().port
    probes = {name: container[name]["httpGet"] for name in container if name.endswith("Probe")}
    assert {name: probe["path"] for name, probe in probes.items()} == {
        "startupProbe": "/readyz",
        "readinessProbe": "/readyz",
        "livenessProbe": "/healthz",
    }
    assert {probe["port"] for probe in probes.values()} == {port["name"]}
    assert manifests["Service"]["spec"]["ports"][0]["targetPort"] == port["name"]
    (waited,) = (int(container["lifecycle"]["preStop"]["exec"]["command"][1]),)
    assert pod["terminationGracePeriodSeconds"] > ServiceSettings().shutdown_seconds + waited


def test_every_manifest_means_the_same_pods(manifests):
    labels = manifests["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert manifests["Deployment"]["spec"]["selector"]["matchLabels"] == labels
    assert manifests["Service"]["spec"]["selector"] == labels
    assert manifests["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == labels
    assert manifests["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"] == labels


def test_all_variables_are_settings(manifests, unit):
    (line,) = [unit["Service"]["Environment"]]
    names = [*manifests["ConfigMap"]["data"], *(one.split("=")[0] for one in line.split())]
    for name in names:
        serving, plain = name.removeprefix("SES_SERVE_").lower(), name.removeprefix("SES_").lower()
        assert serving in NAMES or plain in SETTINGS or name == "HF_HOME", name


def test_the_unit_gains_no_rights_and_writes_only_its_folders(unit):
    service = unit["Service"]
    for name in ("NoNewPrivileges", "DynamicUser", "ProtectHome", "PrivateTmp", "PrivateDevices"):
        assert service[name] == "yes"
    assert service["ProtectSystem"] == "strict"
    assert service["CapabilityBoundingSet"] == ""
    assert service["ExecStart"].endswith("/ses serve")
    variables = dict(one.split("=") for one in service["Environment"].split())
    assert variables["SES_DATA_DIR"] == f"/var/lib/{service['StateDirectory']}"
    assert variables["SES_CACHE_DIR"] == f"/var/cache/{service['CacheDirectory']}"
    assert int(service["TimeoutStopSec"]) > ServiceSettings().shutdown_seconds


def test_systemd_reads_the_unit(tmp_path):
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        return  # its rules are read above
    place = tmp_path / "ses.service"
    text = (FOLDER / "ses.service").read_text(encoding="utf-8")
    place.write_text(text.replace("/opt/ses/bin/ses", "/bin/true"))
    run = subprocess.run([analyze, "verify", place], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")
