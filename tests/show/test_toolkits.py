"""The list of toolkits for people and for programs."""

from __future__ import annotations

from dataclasses import replace

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


def test_a_folder_is_shown_once_by_its_own_name() -> None:
    own = Use(replace(toolkit("/usr/local/cuda-13.2", (13, 2)), real_root="/usr/local/cuda-13.2"))
    link = replace(own.toolkit, root="/usr/local/cuda")
    text = " ".join(toolkits_text([Use(link, (("a.service", "by default"),)), own]).split())
    assert text.startswith("/usr/local/cuda-13.2: CUDA 13.2,") and text.count("CUDA 13.2") == 1
    assert "; also /usr/local/cuda parts" in text and text.endswith("used by a.service (by default)")


def test_the_headers_tell_the_release_where_nvcc_does_not() -> None:
    kit = replace(toolkit("/usr/local/cuda-11.4", (11, 4)), version=None, why="/x/nvcc: signal 11 ended it")
    assert "headers of CUDA 11.4 note" in " ".join(toolkits_text([Use(kit)]).split())


def test_where_there_is_none() -> None:
    assert toolkits_text([]) == "There is no CUDA toolkit on this machine."
