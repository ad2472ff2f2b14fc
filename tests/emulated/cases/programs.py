"""Row programs that tests share: softmax, layer normalisation, reductions."""

from __future__ import annotations

from nautilus_cli.ir.expression import Expression, Reduction, RowProgram
from nautilus_cli.ir.index_map import IndexMap, from_strides, identity
from nautilus_cli.ir.types import F32, DType
from tests.emulated.building import Steps

NOTHING = Expression(())


def element(rows: int, columns: int, *, row_major: bool = True) -> IndexMap:
    """Return the map from (row, column) to a matrix whose columns, or whose rows, are neighbours in memory."""
    return from_strides((rows, columns), (columns, 1) if row_major else (1, rows))


def passed_on(dtype: DType = F32, earlier: int = 0) -> Expression:
    """Return a finish that hands the combined value on; EARLIER reductions come before it."""
    steps = Steps()
    return steps.expression(steps.parameter(earlier, dtype))


def reduction(combine: str, rows: int, columns: int, source: DType, target: DType, *, row_major: bool = True) -> RowProgram:
    """Return one reduction of slot 0 into slot 1, a value a row."""
    term = Steps()
    read = term.load(0, source, element(rows, columns, row_major=row_major))
    compute = source.compute
    row = Steps()
    row.store(row.parameter(0, compute), 1, target, identity((rows,)))
    return RowProgram((Reduction(combine, term.expression(read), passed_on(compute), compute),), NOTHING, row.expression())


def softmax(rows: int, columns: int, storage: DType, *, row_major: bool = True) -> RowProgram:
    """Return the softmax of slot 0 into slot 1: two reductions, and a column epilogue that reads the input again."""
    where = element(rows, columns, row_major=row_major)

    def shifted(steps: Steps) -> int:
        return steps.apply("exp", steps.apply("sub", steps.load(0, storage, where), steps.parameter(0)))

    first, second, last = Steps(), Steps(), Steps()
    first_term = first.expression(first.load(0, storage, where))
    second_term = second.expression(shifted(second))
    last.store(last.apply("div", shifted(last), last.parameter(1)), 1, storage, where)
    return RowProgram(
        (Reduction("max", first_term, passed_on(), F32), Reduction("sum", second_term, passed_on(earlier=1), F32)),
        last.expression(),
        NOTHING,
    )


def layer_norm(rows: int, columns: int, storage: DType) -> RowProgram:
    """Return a residual add and layer normalisation: slots 0 and 1 are summed, 2 scale and 3 shift by column; 4 gets the result,
    5 the sum, and 6 and 7 mean and deviation of each row. Both means divide in `finish`, the second with epsilon and a root."""
    where, by_column = element(rows, columns), from_strides((rows, columns), (0, 1))

    def summed(steps: Steps) -> int:
        return steps.apply("add", steps.load(0, storage, where), steps.load(1, storage, where))

    def centred(steps: Steps) -> int:
        return steps.apply("sub", summed(steps), steps.parameter(0))

    mean, square, mean_finish, deviation_finish, column, row = Steps(), Steps(), Steps(), Steps(), Steps(), Steps()
    mean_term = mean.expression(summed(mean))
    difference = centred(square)
    square_term = square.expression(square.apply("mul", difference, difference))
    mean_end = mean_finish.expression(mean_finish.apply("div", mean_finish.parameter(0), mean_finish.constant(columns)))
    variance = deviation_finish.apply("div", deviation_finish.parameter(1), deviation_finish.constant(columns))
    deviation_end = deviation_finish.expression(
        deviation_finish.apply("sqrt", deviation_finish.apply("add", variance, deviation_finish.constant(1e-5)))
    )
    normal = column.apply("div", centred(column), column.parameter(1))
    scaled = column.apply("mul", normal, column.load(2, storage, by_column))
    column.store(column.apply("add", scaled, column.load(3, storage, by_column)), 4, storage, where)
    column.store(summed(column), 5, storage, where)
    row.store(row.parameter(0), 6, F32, identity((rows,)))
    row.store(row.parameter(1), 7, F32, identity((rows,)))
    return RowProgram(
        (Reduction("sum", mean_term, mean_end, F32), Reduction("sum", square_term, deviation_end, F32)),
        column.expression(),
        row.expression(),
    )
