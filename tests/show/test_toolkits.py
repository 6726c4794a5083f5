"""The list of toolkits for people and for programs."""

from __future__ import annotations

from remedy.show.toolkits import Use, toolkits_json, toolkits_text
from tests.jit.machines import toolkit

USE = Use(
    toolkit("/usr/local/cuda-12.6", (12, 6)), (("a.service", "CUDA_HOME"), ("b.service", "PATH"), ("a.service", "PATH"))
)


def test_a_service_is_named_once() -> None:
    text = " ".join(toolkits_text([USE]).split())
    assert text.startswith("/usr/local/cuda-12.6: CUDA 12.6,")
    assert text.endswith("used by a.service (CUDA_HOME, PATH), b.service (PATH)")


def test_programs_get_each_way_to_it() -> None:
    (shown,) = toolkits_json([USE])["toolkits"]
    assert {"unit": "a.service", "through": "PATH"} in shown["used_by"] and len(shown["used_by"]) == 3


def test_where_there_is_none() -> None:
    assert toolkits_text([]) == "There is no CUDA toolkit on this machine."
