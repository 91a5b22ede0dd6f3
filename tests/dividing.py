"""A plugin of pytest: the suite is divided among processes by file; the browser's tests make two groups.

A group is run by one process and has one server and one browser. Its tests wait more than they work, so that
two groups and the rest of the suite fill two cores; more browsers wait for each other. The groups come first,
then the files that take longest, so that no process is left with one of them at the end.
"""

import gc
from pathlib import PurePosixPath

import pytest

BROWSER = "tests/browser"
# Files of the second group, about half of the browser's time; all others are in the first.
SECOND = {
    "test_cluster_editor",
    "test_dag_view",
    "test_files",
    "test_journey",
    "test_plan",
    "test_restart",
    "test_serverless",
    "test_training",
}
# Files that take about six seconds or more, longest first; the order of all others is pytest's own.
LONG = (
    "test_engines_on_samples",
    "test_engine_equality",
    "test_scenarios",
    "test_every_page",
    "test_language_pages",
    "test_placement_page",
    "test_nothing_is_lost",
    "test_replications",
    "test_language_answers",
    "test_sampled_search",
    "test_cli",
    "test_dask_pool",
    "test_own_scenario",
    "test_what_if",
    "test_second_platform",
    "test_plan_page",
    "test_plan_search",
    "test_model_pages",
    "test_kept_families",
    "test_interiors",
    "test_holds",
    "test_demo",
    "test_runs_page",
    "test_simulation_page",
    "test_curves",
    "test_home_page",
    "test_simulation_against_theory",
    "test_code_cache",
    "test_views_and_rounds",
    "test_training_page",
    "test_placement_words",
    "test_many_rows",
    "test_paths",
    "test_output_files",
    "test_mig",
    "test_elastic_runs",
    "test_solve",
)


def group(file):
    """The group of a file's tests: the file itself, or one of the two groups of the browser's."""
    if not file.startswith(BROWSER):
        return file
    return f"{BROWSER} {2 if PurePosixPath(file).stem in SECOND else 1}"


def rank(file):
    """The place of a file's group in the order of the run."""
    stem = PurePosixPath(file).stem
    if file.startswith(BROWSER):
        return 0
    return 1 + LONG.index(stem) if stem in LONG else 1 + len(LONG)


def file_of(nodeid):
    """The file of a test."""
    return nodeid.split("::", 1)[0]


def divided(config):
    """Whether this is one of several processes that share the suite."""
    return hasattr(config, "workerinput")


def pytest_sessionstart():
    """What is collected stays: looking through it for garbage would take as long as collecting."""
    gc.disable()


def pytest_collection_finish():
    """From here on garbage is looked for in what tests leave, not in what was collected."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Long files first, where the suite is divided."""
    if divided(config):
        items.sort(key=lambda item: rank(file_of(item.nodeid)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """By file, as ``--dist loadfile``, but for the browser's; other ways of dividing stay as they are."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid):
            return group(str(super()._split_scope(nodeid)))

    return Scheduling(config, log)
