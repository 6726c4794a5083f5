#!/usr/bin/python
"""`remedy fix` on one machine, as Ansible wants it told."""

from __future__ import annotations

DOCUMENTATION = r"""
module: fix
short_description: Repair the CUDA toolchain of a systemd service
description:
  - Runs C(remedy fix) for one unit. It diagnoses, plans, proves, changes, restarts, and watches the service.
  - Where the service does not become healthy, remedy puts everything back, and the task fails.
version_added: 0.1.0
author: remedy developers
options:
  unit:
    description: The service, as systemctl takes it.
    type: str
    required: true
  edit:
    description: Edit the line that wins, or write a drop-in. By default remedy decides.
    type: str
    choices: [in-place, drop-in]
  timeout:
    description: Seconds that the start may take. By default from the unit's earlier starts.
    type: float
  prove:
    description: Compile, link and load a kernel under the planned environment before the service is touched.
    type: bool
    default: true
  prewarm:
    description: Build kernels before the restart.
    type: bool
    default: true
  keep_packages:
    description: Leave installed packages in place where the change is rolled back.
    type: bool
    default: false
  restart:
    description: Restart also a service that runs well now, where its next start would fail.
    type: bool
    default: false
  executable:
    description: The program.
    type: str
    default: remedy
attributes:
  check_mode:
    description: Plans, and changes, downloads and restarts nothing.
    support: full
  diff_mode:
    description: Shows the edits as unified diffs, secrets removed.
    support: full
"""

EXAMPLES = r"""
- name: The CUDA toolchain of the server is right
  remedy.toolchain.fix:
    unit: sglang-k26.service
    timeout: 1800
  become: true
"""

RETURN = r"""
outcome:
  description: healthy, nothing-to-do, planned, refused, rolled-back, rollback-incomplete or interrupted.
  returned: when remedy came to an outcome
  type: str
cause:
  description: The cause that was found; C(remedy explain) has a page on it.
  returned: when remedy came to an outcome
  type: str
transaction:
  description: The change's name in C(remedy history).
  returned: when something was changed
  type: str
plan:
  description: The plan, as C(remedy fix --json) prints it.
  returned: when there is one
  type: dict
exit_code:
  description: remedy's exit code. Ansible would take an C(rc) other than 0 for a failure, and 3 is none in check mode.
  returned: always
  type: int
"""

import json
from typing import Any

from ansible.module_utils.basic import AnsibleModule

ARGUMENTS = {
    "unit": {"type": "str", "required": True},
    "edit": {"type": "str", "choices": ["in-place", "drop-in"]},
    "timeout": {"type": "float"},
    "prove": {"type": "bool", "default": True},
    "prewarm": {"type": "bool", "default": True},
    "keep_packages": {"type": "bool", "default": False},
    "restart": {"type": "bool", "default": False},
    "executable": {"type": "str", "default": "remedy"},
}
#: Whether the machine is other than before. Any other outcome is a failure of the task.
CHANGED = {"healthy": True, "planned": True, "nothing-to-do": False}


def command(options: dict[str, Any], check_mode: bool) -> list[str]:
    """The command line for these options."""
    argv = [options["executable"], "fix", "--json", "--dry-run" if check_mode else "--yes"]
    if options["edit"]:
        argv.append("--edit=" + options["edit"])
    if options["timeout"]:
        argv.append(f"--timeout={options['timeout']}")
    argv += [flag for name, flag in (("prove", "--no-prove"), ("prewarm", "--no-prewarm")) if not options[name]]
    if options["keep_packages"]:
        argv.append("--keep-packages")
    if options["restart"]:
        argv.append("--restart")
    return [*argv, "--", options["unit"]]


def events(output: str) -> list[dict[str, Any]]:
    """The events that were printed, a line each; what is none is left out."""
    found = []
    for line in output.splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict):
            found.append(event)
    return found


def described(told: list[dict[str, Any]]) -> dict[str, Any]:
    """What a task returns for these events, and the edits in the form of Ansible's diff mode."""
    plan = next((event for event in told if event.get("event") == "plan"), None)
    result = next((event for event in reversed(told) if event.get("event") == "result"), None)
    values: dict[str, Any] = {}
    if plan is not None:
        values["plan"] = plan
        edits = [step for step in plan.get("steps", []) if step.get("kind") == "edit-file"]
        values["diff"] = [{"prepared": step["diff"]} for step in edits]
    if result is not None:
        values.update((name, result.get(name)) for name in ("outcome", "cause", "transaction", "reason"))
        values["changed"] = CHANGED.get(result["outcome"], result["outcome"] == "rollback-incomplete")
    return values


def message(values: dict[str, Any], stderr: str) -> str:
    """One sentence on a failure."""
    if "outcome" not in values:
        return "remedy came to no outcome: " + (stderr.strip() or "it said nothing")
    words = values["outcome"] + (f" ({values['cause']})" if values["cause"] else "")
    return words + (f": {values['reason']}" if values["reason"] else "")


def main() -> None:
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    status, stdout, stderr = module.run_command(command(module.params, module.check_mode))
    values = described(events(stdout))
    values["exit_code"] = status
    if values.get("outcome") in CHANGED:
        module.exit_json(**values)
    module.fail_json(msg=message(values, stderr), stderr=stderr, **values)


if __name__ == "__main__":
    main()
