"""The page on clusters, as far as it can be tried without one.

Slurm: a stand-in for `sbatch` starts the job script on this machine, and the page's sweep runs on
its workers. Kubernetes: the arguments are those that the operator's class takes, and the manifest
that it makes of them is one that the operator's definition of its resources allows.
"""

from __future__ import annotations

import ast
import inspect
import json
import os
import re
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from sweeping import SCENARIO, SWEEP, hashes

import retx

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "sweep-on-a-cluster.md"

SBATCH = """#!/bin/sh
cp "$1" {script}  # which Slurm keeps, too
setsid sh {script} >> {log} 2>&1 &
echo $! >> {jobs}
echo Submitted batch job $!
"""


def block(name: str) -> str:
    """The code of the page that uses this class."""
    blocks = re.findall(r"^```py\n(.*?)^```$", PAGE.read_text(), flags=re.DOTALL | re.MULTILINE)
    (found,) = (text for text in blocks if name in text)
    return found


def test_slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("dask_jobqueue", reason="needs dask-jobqueue, which retx does not")
    log, jobs, folder = tmp_path / "log", tmp_path / "jobs", tmp_path / "bin"
    folder.mkdir()
    for name, text in {
        "sbatch": SBATCH.format(log=log, jobs=jobs, script=tmp_path / "job"),
        "scancel": "#!/bin/sh\n",
    }.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scenario.toml").write_text(SCENARIO + SWEEP)
    # Two workers on this machine are enough to see that it works.
    code = block("SLURMCluster").replace("16,", "2,").replace("maximum_jobs=50", "maximum_jobs=1")
    code = code.replace("/shared/retx/bin/python", sys.executable)
    code = code.replace("/shared/results/loss", str(tmp_path / "there"))
    code = code.replace('memory="16 GB"', 'memory="16 GB", scheduler_options=LOCAL')
    names: dict[str, Any] = {"LOCAL": {"host": "127.0.0.1", "dashboard_address": None}}
    try:
        exec(code, names)
        script = names["cluster"].job_script()
        names["cluster"].close()
    finally:
        for job in jobs.read_text().split() if jobs.exists() else []:
            try:
                os.killpg(int(job), signal.SIGKILL)
            except ProcessLookupError:
                continue
    assert "#SBATCH -t 04:00:00" in script
    assert "--nthreads 1" in script
    assert "--nworkers 2" in script
    retx.sweep(tmp_path / "scenario.toml", out=tmp_path / "here")
    assert hashes(tmp_path / "there") == hashes(tmp_path / "here")


def arguments(code: str, name: str) -> dict[str, Any]:
    """Arguments of the call of a class in a piece of code."""
    calls = (node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call))
    (call,) = (call for call in calls if getattr(call.func, "id", "") == name)
    return {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}


def resolved(schema: Any, definitions: dict[str, Any]) -> Any:
    """The operator's own definitions in place; Kubernetes' own, to which it refers, stay open."""
    if isinstance(schema, dict):
        name = schema.get("$ref", "").rpartition("/")[2]
        if "$ref" in schema:
            return resolved(definitions.get(name, {}), definitions)
        return {key: resolved(value, definitions) for key, value in schema.items()}
    return [resolved(item, definitions) for item in schema] if isinstance(schema, list) else schema


def test_kubernetes() -> None:
    operator = pytest.importorskip(
        "dask_kubernetes.operator", reason="needs dask-kubernetes, which retx does not"
    )
    jsonschema = pytest.importorskip("jsonschema", reason="needs jsonschema")
    import yaml

    given = arguments(block("KubeCluster"), "KubeCluster")
    known = inspect.signature(operator.KubeCluster.__init__).parameters
    assert set(given) <= set(known), "the class takes these arguments by name"
    inspect.signature(operator.KubeCluster.adapt).bind(None, minimum=2, maximum=100)
    manifest = json.loads(json.dumps(operator.make_cluster_spec(**given)))
    templates = Path(operator.__file__).parent / "customresources" / "templates.yaml"
    definitions = yaml.safe_load(templates.read_text())["definitions"]
    schema = resolved(definitions["dask.k8s.api.v1.DaskCluster"], definitions)
    jsonschema.validate(manifest, schema)
    worker = manifest["spec"]["worker"]
    assert worker["replicas"] == 20
    (container,) = worker["spec"]["containers"]
    assert container["image"] == "retx:0.1.0"
    assert container["resources"]["limits"] == {"cpu": "4"}
    manifest["spec"]["worker"]["replicas"] = "many"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(manifest, schema)
