"""``nona study NAME``: each study is its settings, its run and its result, named by their places."""

from __future__ import annotations

from dataclasses import Field, dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click

from nona.cli import known
from nona.cli.declared import CONTEXT, CSV, ENGINE, HTML, JSON, SHIPPED, WORKERS, Command, group, option
from nona.cli.output import ProgressReport, emit
from nona.cli.parameters import DECIMAL, Quantity, ShareParameter, WholeNumber
from nona.core.registry import load
from nona.queries.workflows.shipped import choices, option_name


@dataclass(frozen=True, slots=True)
class ShippedStudy:
    """A study that ships: the places of its settings' class, its run and its result's type.

    The module of its name in ``evidence.reports`` presents it; ``rows`` is the function there that makes the
    rows of its CSV file, ``html`` the one for its report. ``engine``: the usual one; empty where there is no
    choice. ``parallel``: whether it runs on several processes.
    """

    name: str
    summary: str
    settings: str
    run: str
    result: str
    rows: str = ""
    html: str = ""
    engine: str = ""
    parallel: bool = True

    def report(self, function: str) -> Any:
        """Return a function of the module that presents it."""
        return load(f"evidence.reports.{self.name.replace('-', '_')}:{function}")


STUDIES = (
    ShippedStudy(
        "paper",
        "the paper's evaluation: 80 servers, five models, every scheduler to its edge of stability",
        "evidence.paper:PaperSettings",
        "evidence.paper:paper_study",
        "evidence.results:PaperStudy",
        rows="points",
        html="paper_html",
        engine="auto",
    ),
    ShippedStudy(
        "prediction",
        "the prediction against the simulation, over load, background, locality and models",
        "evidence.prediction_map:MapSettings",
        "evidence.prediction_map:map_study",
        "nona.queries.study_results:PredictionMap",
        engine="auto",
    ),
    ShippedStudy(
        "decisions",
        "the placement simulated against the other schedulers: all samples and generated networks",
        "evidence.decisions:DecisionSettings",
        "evidence.decisions:decisions_study",
        "evidence.results:DecisionStudy",
        rows="entrants",
        engine="compiled",
    ),
    ShippedStudy(
        "serverless",
        "ESG and four other policies in the slides' three settings, and what the result depends on",
        "evidence.serverless:StudySettings",
        "evidence.serverless:serverless_study",
        "evidence.policy_results:ServerlessStudy",
    ),
    ShippedStudy(
        "training",
        "training policies over load and with all jobs at once, compared with Gavel's paper",
        "evidence.training:StudySettings",
        "evidence.training:training_study",
        "evidence.policy_results:TrainingStudy",
    ),
    ShippedStudy(
        "elastic",
        "elastic training jobs: mean JCT over relative load and over interference",
        "evidence.elastic:ElasticStudySettings",
        "evidence.elastic:elastic_study",
        "evidence.policy_results:ElasticStudy",
    ),
)

_NAMES = {
    "mapped scenario": known.MAPPED,
    "network": known.NETWORK,
    "training policy": known.TRAINING_POLICY,
    "elastic policy": known.ELASTIC_POLICY,
}


def _option_of(one: Field[Any]) -> click.Parameter:
    words, annotation = one.metadata, str(one.type)
    kind: Any = _NAMES.get(words.get("of", ""))
    if "int" in annotation:
        kind = WholeNumber(min=words.get("least"), max=words.get("most"))
    elif "float" in annotation:
        dimension = words.get("dimension")
        kind = ShareParameter() if dimension == "fraction" else Quantity(dimension) if dimension else DECIMAL
    text, default = words["text"], None
    if not (one.default is None or isinstance(one.default, bool | tuple)):
        text, default = f"{text} (default {one.default:g})", one.default
    spec = option(text, kind, flags=(option_name(one),), default=default, metavar=words.get("metavar"))
    parameter: click.Parameter = spec.parameter(one.name, annotation)
    return parameter


class StudyCommand(Command):
    """The command of a study; its options are read from the study's settings when they are first needed."""

    def __init__(self, study: ShippedStudy) -> None:
        self.study, self._params = study, list[click.Parameter]()
        super().__init__(
            study.name,
            callback=self._run,
            help=study.summary,
            short_help=study.summary,
            context_settings=CONTEXT,
        )

    @property
    def params(self) -> list[click.Parameter]:
        """The options."""
        if not self._params:
            study = self.study
            engine = option(f"(default: {study.engine})", known.ENGINE, default=study.engine)
            shared = (
                ("engine", ENGINE if study.engine == "auto" else engine, study.engine),
                ("csv", CSV, study.rows),
                ("html", HTML, study.html),
                ("workers", WORKERS, study.parallel),
            )
            parameters = [_option_of(one) for one in choices(load(study.settings))]
            parameters += [spec.parameter(name, "") for name, spec, wanted in shared if wanted]
            parameters += [SHIPPED.parameter("shipped", "bool"), JSON.parameter("json", "bool")]
            self._params = self.with_force(parameters)
        return self._params

    @params.setter
    def params(self, value: list[click.Parameter]) -> None:
        """Click gives an empty list before they are known."""

    def _run(self, **given: Any) -> None:
        from nona.core.output_files import check_places

        study, csv, html = self.study, given.pop("csv", None), given.pop("html", None)
        check_places(csv, html)
        how = {name: given.pop(name) for name in ("engine", "workers") if name in given}
        shipped, printing = given.pop("shipped"), SimpleNamespace(json=given.pop("json"))
        if shipped:
            from nona.queries.workflows.shipped import stored_result

            result = stored_result(load(study.result))
        else:
            wanted, line = {name: value for name, value in given.items() if value != ()}, ProgressReport()
            result = load(study.run)(
                load(study.settings)(**wanted),
                on_progress=lambda fraction, text: line.report(text, fraction),
                **how,
            )
            line.end()
        # Before the files: whatever happens to them, it is there.
        emit(printing, result, lambda result: study.report("presented")(result).text())
        _write_files(study, result, csv, html)


def _write_files(study: ShippedStudy, result: Any, csv: Path | None, html: Path | None) -> None:
    from nona.core.output_files import write_text

    if csv is not None:
        from nona.core.tables import csv_bytes

        write_text(csv, csv_bytes(study.report(study.rows)(result).numbers()).decode())
    if html is not None:
        write_text(html, study.report(study.html)(result))


study = group("study", "run or show a shipped study, e.g. the paper's evaluation", "STUDY")
for _study in STUDIES:
    study.add_command(StudyCommand(_study))
