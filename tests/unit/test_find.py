"""Fragments, aliases and drop-ins."""

from __future__ import annotations

import pytest

from remedy.unit.find import Units
from remedy.unit.types import Manager
from tests.memory import MemoryView

ETC, RUN, LIB = "/etc/systemd/system", "/run/systemd/system", "/usr/lib/systemd/system"


def units(files: dict[str, str], links: dict[str, str] | None = None, version: int = 257) -> Units:
    return Units(MemoryView(files=files, links=links or {}), Manager(version))


@pytest.mark.parametrize(
    ("places", "winner"),
    [
        ([LIB], LIB),
        ([LIB, RUN], RUN),
        ([RUN, ETC], ETC),
        ([LIB, "/usr/local/lib/systemd/system"], "/usr/local/lib/systemd/system"),
        ([ETC, "/etc/systemd/system.control"], "/etc/systemd/system.control"),
        ([LIB, "/run/systemd/generator.late"], LIB),
    ],
)
def test_the_first_directory_wins(places: list[str], winner: str) -> None:
    found = units({f"{place}/a.service": "x" for place in places}).find("a.service")
    assert found.path == f"{winner}/a.service"


def test_not_found() -> None:
    assert units({f"{ETC}/b.service": "x"}).find("a.service").path is None


def test_an_instance_has_its_own_file_or_the_templates() -> None:
    tree = units({f"{LIB}/a@.service": "x", f"{ETC}/a@own.service": "x"})
    assert tree.find("a@x.service").path == f"{LIB}/a@.service"
    assert tree.find("a@x.service").id == "a@x.service"
    assert tree.find("a@own.service").path == f"{ETC}/a@own.service"


@pytest.mark.parametrize(
    "target",
    [f"{LIB}/real.service", "../../../usr/lib/systemd/system/real.service", "/lib/systemd/system/real.service"],
)
def test_a_link_inside_the_search_path_is_an_alias(target: str) -> None:
    links = {f"{ETC}/alias.service": target, "/lib": "/usr/lib"}
    found = units({f"{LIB}/real.service": "x"}, links).find("alias.service")
    assert (found.path, found.id) == (f"{LIB}/real.service", "real.service")


def test_the_higher_directory_wins_for_the_aliased_name_too() -> None:
    files = {f"{LIB}/real.service": "x", f"{ETC}/real.service": "x"}
    assert (
        units(files, {f"{LIB}/alias.service": f"{LIB}/real.service"}).find("alias.service").path
        == f"{ETC}/real.service"
    )


@pytest.mark.parametrize(("version", "path"), [(247, "/opt/x.service"), (252, f"{ETC}/a.service")])
def test_a_link_out_of_the_search_path_is_the_unit_itself(version: int, path: str) -> None:
    found = units({"/opt/x.service": "x"}, {f"{ETC}/a.service": "/opt/x.service"}, version).find("a.service")
    assert (found.path, found.id) == (path, "a.service")


@pytest.mark.parametrize("target", ["a.service", f"{ETC}/a.service", "other.timer", "b@.service"])
def test_links_that_are_no_good_aliases_are_passed_over(target: str) -> None:
    files = {f"{LIB}/a.service": "x", f"{LIB}/other.timer": "x", f"{LIB}/b@.service": "x"}
    assert units(files, {f"{ETC}/a.service": target}).find("a.service").path == f"{LIB}/a.service"


def test_aliases_that_run_in_a_circle_lead_nowhere() -> None:
    assert units({}, {f"{ETC}/a.service": "b.service", f"{ETC}/b.service": "a.service"}).find("a.service").path is None


def test_aliases_of_templates_fill_the_instance_in() -> None:
    tree = units(
        {f"{LIB}/a@.service": "x", f"{ETC}/b@x.service.d/1.conf": "", f"{ETC}/b@.service.d/2.conf": ""},
        {f"{ETC}/b@.service": f"{LIB}/a@.service"},
    )
    found = tree.find("b@x.service")
    assert (found.path, found.id) == (f"{LIB}/a@.service", "a@x.service")
    assert [path.rpartition("/")[2] for path in tree.drop_ins(found)] == ["1.conf", "2.conf"]


@pytest.mark.parametrize(("target", "kind"), [("/dev/null", "link"), ("", "empty")])
def test_masks(target: str, kind: str) -> None:
    path = f"{ETC}/a.service"
    tree = units({path: ""} if kind == "empty" else {}, {path: target} if kind == "link" else {})
    assert tree.is_mask(tree.find("a.service").path or "")


def test_drop_ins_of_all_kinds_by_name() -> None:
    files = {
        f"{LIB}/a-b@x.service": "x",
        f"{LIB}/service.d/10-type.conf": "",
        f"{LIB}/a-.service.d/20-prefix.conf": "",
        f"{LIB}/a-b@.service.d/30-template.conf": "",
        f"{RUN}/a-b@x.service.d/40-own.conf": "",
        f"{ETC}/a-b@x.service.d/05-first.conf": "",
        f"{ETC}/a-b@x.service.d/.hidden.conf": "",
        f"{ETC}/a-b@x.service.d/readme.txt": "",
        f"{ETC}/other.service.d/50-x.conf": "",
    }
    tree = units(files)
    names = [path.rpartition("/")[2] for path in tree.drop_ins(tree.find("a-b@x.service"))]
    assert names == ["05-first.conf", "10-type.conf", "20-prefix.conf", "30-template.conf", "40-own.conf"]


@pytest.mark.parametrize(
    ("paths", "winner"),
    [
        ([f"{LIB}/a-b.service.d", f"{ETC}/a-b.service.d"], f"{ETC}/a-b.service.d"),
        ([f"{ETC}/a-b.service.d", f"{ETC}/a-.service.d"], f"{ETC}/a-b.service.d"),
        # The directory counts more than how near the name is.
        ([f"{RUN}/a-b.service.d", f"{ETC}/a-.service.d"], f"{ETC}/a-.service.d"),
        # But not for the type's own drop-ins.
        ([f"{LIB}/a-.service.d", f"{ETC}/service.d"], f"{LIB}/a-.service.d"),
    ],
)
def test_one_drop_in_of_a_name(paths: list[str], winner: str) -> None:
    tree = units({f"{LIB}/a-b.service": "x", **{f"{path}/1.conf": "" for path in paths}})
    assert tree.drop_ins(tree.find("a-b.service")) == (f"{winner}/1.conf",)


@pytest.mark.parametrize(
    ("fragment", "alias", "unit", "owner"),
    [
        ("a.service", "b.service", "a.service", "b.service"),
        ("a.service", "b-c-d.service", "a.service", "b-.service"),
        ("a.service", "b-c-d.service", "a.service", "b-c-.service"),
        ("a@.service", "b@x.service", "a@x.service", "b@.service"),
        ("a@.service", "b@x.service", "a@x.service", "b@x.service"),
        ("a@.service", "b-c@x.service", "a@x.service", "b-@.service"),
    ],
)
def test_drop_ins_of_aliases_count(fragment: str, alias: str, unit: str, owner: str) -> None:
    conf = f"{ETC}/{owner}.d/1.conf"
    tree = units({f"{LIB}/{fragment}": "x", conf: ""}, {f"{ETC}/{alias}": f"{LIB}/{fragment}"})
    assert tree.drop_ins(tree.find(unit)) == (conf,)


def test_a_linked_directory_of_drop_ins_is_named_by_its_true_path() -> None:
    tree = units({f"{LIB}/a.service": "x", "/opt/conf/1.conf": ""}, {f"{ETC}/a.service.d": "/opt/conf"})
    assert tree.drop_ins(tree.find("a.service")) == ("/opt/conf/1.conf",)
