"""A service that a word in its environment file keeps from starting: found and mended in seconds, without a toolkit."""

from __future__ import annotations

from typing import Final

from tests.lab.machine import Machine

UNIT: Final = "shape.service"
SETTINGS: Final = "/etc/default/shape"
#: With this file there, the mended service fails as well.
FAULT: Final = "/etc/shape-fails"
CAUSE: Final = "unit-environment"
PROGRAM: Final = f"""\
#!/bin/sh
[ -n "$CUDA_MODULE_LOADING" ] || {{ echo "CUDA_MODULE_LOADING is not set" >&2; exit 1; }}
[ ! -e {FAULT} ] || {{ echo "CUDA error: an illegal memory access was encountered" >&2; exit 1; }}
echo ready
exec sleep infinity
"""
FILES: Final = {
    SETTINGS: "export CUDA_MODULE_LOADING=LAZY\nHF_TOKEN=hf_ThisIsNoTokenButLooksLikeOne00000\n",
    f"/etc/systemd/system/{UNIT}": f"""\
[Service]
EnvironmentFile={SETTINGS}
ExecStart=/usr/local/bin/shape
[X-Remedy]
ReadyPattern=^ready$
""",
}


def broken(machine: Machine) -> None:
    """Install the service and let it fail once."""
    machine.write("/usr/local/bin/shape", PROGRAM, mode=0o755)
    for path, text in FILES.items():
        machine.write(path, text)
    machine.exec("systemctl daemon-reload; systemctl start shape", check=False)
    machine.exec("for i in $(seq 100); do systemctl is-failed -q shape && exit; sleep 0.1; done; exit 1")
