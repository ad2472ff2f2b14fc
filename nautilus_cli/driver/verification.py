"""verify(): a library against onnxruntime, or against outputs that are known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from nautilus_cli.driver.group_results import PerNode
from nautilus_cli.driver.options import Progress, VerifyOptions, silent
from nautilus_cli.driver.origin import (
    at_sizes,
    given_shapes,
    open_error,
    open_origin,
    origin,
    reference_model,
    sampled_shapes,
    sized_shapes,
)
from nautilus_cli.driver.value_samples import as_bindings, given_values, ranges_of, sampled_values, values_text
from nautilus_cli.driver.verification_result import CaseResult, VerifyResult, write_verdict
from nautilus_cli.errors import UsageError
from nautilus_cli.frontend.load import LoadedModel
from nautilus_cli.numerics import Comparison
from nautilus_cli.runtime.library import Library
from nautilus_cli.verify import archive, check, dataset, references, report


def verify(options: VerifyOptions, progress: Progress = silent) -> VerifyResult:
    """Compare a library with onnxruntime on the model that it was compiled from; shapes and bindings are the library's own.

    Where no place is asked for, every target of the library that runs here is compared, a GPU's first.

    Raises:
        NautilusError: the subclass says what failed. A mismatch is a result, not an error.
    """
    _require_one_source(options)
    from nautilus_cli.driver.each_target import open_each, together
    from nautilus_cli.driver.open_dimensions import worst

    progress("reading the model", 0, 1)
    libraries, notes = open_each(options.library, options.device, options.place)
    results = []
    with ExitStack() as opened:
        for library in libraries:
            opened.enter_context(library)
        models, before = list(_origins(libraries[0], options)), _age(options.library)
        try:
            for library in libraries:
                compared = ((what, verify_loaded(model, library, options, progress)) for what, model in models)
                results.append(worst(compared) if libraries[0].model.is_open else next(compared)[1])
                options = replace(options, save_inputs=None, save_outputs=None)
        except BaseException:
            if _age(options.library) != before:  # a verdict of some sizes alone would pass for one of all
                report.discard(report.report_path(options.library))
            raise
    found = together(results)
    return replace(found, notes=(*found.notes, *notes))


def _age(library: Path) -> int | None:
    """Return when a library's verdict was written, in nanoseconds."""
    path = report.report_path(library)
    return path.stat().st_mtime_ns if path.exists() else None


def _origins(library: Library, options: VerifyOptions) -> Iterator[tuple[str, LoadedModel]]:
    """Yield the model that a library was compiled from, with what its shapes are; with several values where those decide shapes."""
    if not library.model.reads_values or options.dataset is not None:
        yield from _sized_origins(library, options)
        return
    for what, model in _sized_origins(library, options):
        shapes = {name: value.type.static for name, value in model.graph.inputs}
        found = (
            [given_values(library, options.inputs)]
            if options.inputs is not None
            else list(sampled_values(library, ranges_of(model.graph), list(shapes.values())))
        )
        if not found:
            raise UsageError(
                "values of inputs decide shapes, and none were found that the model takes", where=str(library.path), hint="Pass --inputs."
            )
        for values in found[-1:] if options.per_node else found:
            yield f"{what} with {values_text(values)}", origin(library, options.model, shapes, as_bindings(values))


def _sized_origins(library: Library, options: VerifyOptions) -> Iterator[tuple[str, LoadedModel]]:
    """Yield the model, at several sizes where dimensions are open."""
    if not library.dimensions and (options.sizes or options.shapes):
        raise UsageError("leaves no dimension open", where=str(library.path), hint="Leave out --dim and --shape.")
    if not library.dimensions:
        yield "its shapes", origin(library, options.model)
    elif options.inputs is not None:
        yield "the sizes given", origin(library, options.model, given_shapes(library, options.inputs))
    elif options.sizes or options.shapes:
        yield "the sizes given", origin(library, options.model, sized_shapes(library, options.sizes, options.shapes))
    elif options.dataset is not None:
        yield "the sizes of its cases", open_origin(library, options.model)
    elif options.golden is not None:
        raise open_error(library)
    else:
        sampled = list(sampled_shapes(library))
        for what, shapes in sampled[-1:] if options.per_node else sampled:
            with at_sizes(what):
                found = origin(library, options.model, shapes)
            yield what, found


def _require_one_source(options: VerifyOptions) -> None:
    """Refuse options that a dataset answers already."""
    given = {
        "--inputs": options.inputs,
        "--golden": options.golden,
        "--range": options.ranges,
        "--dim": options.sizes,
        "--shape": options.shapes,
        "--save-inputs": options.save_inputs,
        "--save-outputs": options.save_outputs,
    }
    if options.inputs is not None and (options.sizes or options.shapes):
        where = "--dim" if options.sizes else "--shape"
        raise UsageError("the arrays of --inputs say how large everything is", where=where, hint="Leave out this option.")
    if options.per_node and options.dataset:
        raise UsageError("each group is compared on one set of inputs", where="--per-node", hint="Leave out --dataset.")
    for option, value in given.items():
        if options.dataset is not None and value:
            raise UsageError("a dataset says what goes in and comes out", where=option, hint="Leave out this option, or --dataset.")


def verify_loaded(model: LoadedModel, library: Library, options: VerifyOptions, progress: Progress = silent) -> VerifyResult:
    """Compare a loaded library with a reference, and write the verdict beside it."""
    settings = check.Settings(
        inputs=options.inputs,
        golden=options.golden,
        save_inputs=options.save_inputs,
        seed=options.seed,
        ranges=options.ranges,
        rtol=options.rtol,
        atol=options.atol,
        constants=model.constants,
        folder=options.model.parent,
        fp32_mode=library.manifest.get("fp32_mode", "ffma"),
    )
    if options.dataset is not None:
        return _verify_dataset(model, library, options, settings, options.dataset, progress)
    progress("comparing with onnxruntime" if options.golden is None else f"comparing with {options.golden.name}", 0, 1)
    source = options.model if options.golden is not None else reference_model(library, options.model, model)
    found = check.verify(source, model.graph, with_values(library, model), settings, progress)
    groups = None
    if options.per_node:
        from nautilus_cli.driver.per_node import per_node  # here: it builds, and any other comparison needs no compiler

        groups = per_node(model, library, options, settings, found=found, progress=progress)
    if options.save_outputs is not None:
        archive.write(options.save_outputs, found.actual)
    result = VerifyResult(
        target=library.info.target,
        reference=found.reference,
        comparisons=found.comparisons,
        report=report.report_path(options.library),
        verdict={"target": library.info.target, **found.to_data(), **(_groups_data(groups) if groups else {})},
        notes=(*found.notes, *(groups.notes if groups else ())),
        groups=groups.groups if groups else (),
        groups_reference=groups.reference if groups else "",
        fault=groups.fault if groups else None,
    )
    write_verdict(result)
    return result


def with_values(library: Library, model: LoadedModel) -> references.Run:
    """Return what runs a library on the inputs of a model in which those that the library reads are bound."""
    held = {tensor.name: model.constants[tensor.name] for tensor in library.inputs if tensor.name in model.constants}
    return (lambda arrays: library({**arrays, **held})) if held else library


def _groups_data(found: PerNode) -> dict[str, Any]:
    """Return what was found for each group as JSON types."""
    groups = [
        {
            "family": group.family,
            "kernel": group.kernel,
            "nodes": list(group.nodes),
            "tensors": {name: {"match": c.is_match, "max_abs": report.number(c.max_abs)} for name, c in group.comparisons.items()},
        }
        for group in found.groups
    ]
    return {"groups": groups, "fault": None if found.fault is None else asdict(found.fault)}


def _verify_dataset(
    model: LoadedModel, library: Library, options: VerifyOptions, settings: check.Settings, folder: Path, progress: Progress
) -> VerifyResult:
    """Compare on each case of a folder: with the outputs that it holds, else with onnxruntime."""
    found, whole = dataset.places(folder), model
    names = () if whole.constants else tuple(name for name, _ in whole.graph.inputs)
    checker = None if library.model.is_open else check.Checker(model.graph, library, settings, progress)
    oracle: references.Reference | None = None
    cases: list[CaseResult] = []
    data: list[dict[str, Any]] = []
    notes: dict[str, None] = {}
    names_of_references: dict[str, None] = {}
    for number, place in enumerate(found):
        progress(f"comparing {place.name}", number, len(found))
        if checker is None:
            model = _model_of_case(place, whole, library, options)
            settings = replace(settings, constants=model.constants)
        one_checker = checker or check.Checker(model.graph, with_values(library, model), settings, progress)
        case = dataset.read_case(place, model.graph, model.constants, names)
        if case.expected is None:
            oracle = reference = oracle or references.oracle(reference_model(library, options.model, model), options.model.parent)
        else:
            reference = references.known(f"dataset {folder.name}", case.expected)
        one = one_checker.check(check.as_given(case.inputs), reference)
        cases.append(CaseResult(name=case.name, comparisons=one.comparisons))
        data.append({"case": case.name, **one.to_data()})
        notes.update(dict.fromkeys(f"{case.name}: {note}" for note in one.notes))
        names_of_references[one.reference] = None
    path, is_match = report.report_path(options.library), all(case.is_match for case in cases)
    result = VerifyResult(
        target=library.info.target,
        reference=" and ".join(names_of_references),
        comparisons=_worst(cases),
        report=path,
        verdict={"schema": report.SCHEMA, "target": library.info.target, "match": is_match, "cases": data},
        notes=tuple(notes),
        cases=tuple(cases),
    )
    write_verdict(result)
    return result


def _model_of_case(place: Path, model: LoadedModel, library: Library, options: VerifyOptions) -> LoadedModel:
    """Return the model with the shapes that a case gives to what is open, and with its values where those decide shapes."""
    arrays = dataset.case_arrays(place, model.graph, model.constants)
    values = {tensor.name: arrays[tensor.name] for tensor in library.inputs if tensor.read_elements and tensor.name in arrays}
    shapes = {name: arrays[name].shape if name in arrays else value.type.static for name, value in model.graph.inputs}
    return origin(library, options.model, shapes, as_bindings(values))


def _worst(cases: Iterable[CaseResult]) -> dict[str, Comparison]:
    """Return for each output the comparison with the most failures, of those the one with the greatest error."""
    worst: dict[str, Comparison] = {}
    for case in cases:
        for name, found in case.comparisons.items():
            if name not in worst or (found.failures, found.max_abs) > (worst[name].failures, worst[name].max_abs):
                worst[name] = found
    return worst
