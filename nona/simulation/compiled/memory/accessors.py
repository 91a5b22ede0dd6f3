"""Compiled code that finds the arrays of a run by their addresses, in place and without a call."""

from __future__ import annotations

from functools import cache
from typing import Any

from nona.simulation.compiled.memory.fields import Field, Row

_MANY = 1 << 40  # the length that arrays have in the loop: it asks the clock how much room there is


def _load(context: Any, builder: Any, state_type: Any, state: Any, place: int) -> Any:
    """Entry ``place`` of the state. Arrays never move while the loop runs, so one look is enough."""
    from numba.core import types
    from numba.np import arrayobj as numba_arrayobj

    arrayobj: Any = numba_arrayobj  # Numba has no types of its own
    whole = context.get_value_type(types.int64)
    array = arrayobj.make_array(state_type)(context, builder, state)
    load = builder.load(builder.gep(array.data, [whole(place)]))
    load.set_metadata("invariant.load", builder.module.add_metadata([]))
    return load


@cache
def accessor(field: Field) -> Any:
    """What stands for a :class:`Field`: the array."""
    from numba.core import cgutils as numba_cgutils
    from numba.core import types
    from numba.extending import intrinsic
    from numba.np import arrayobj as numba_arrayobj
    from numba.np import numpy_support

    arrayobj: Any = numba_arrayobj
    cgutils: Any = numba_cgutils
    array = types.Array(numpy_support.from_dtype(field.dtype), field.dimensions, "C")
    item = field.dtype.itemsize

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        whole = context.get_value_type(types.int64)
        address, columns = (
            _load(context, builder, signature.args[0], arguments[0], 2 * field.number + k) for k in range(2)
        )
        made = arrayobj.make_array(array)(context, builder)
        pointer = builder.inttoptr(address, made.data.type)
        if field.dimensions == 1:
            shape, strides = [whole(_MANY)], [whole(item)]
        else:
            shape = [whole(_MANY), columns]
            strides = [builder.mul(columns, whole(item)), whole(item)]
        packed = (cgutils.pack_array(builder, sizes) for sizes in (shape, strides))
        arrayobj.populate_array(made, pointer, *packed, item, None)
        return made._getvalue()

    @intrinsic
    def get(typing: Any, s: Any) -> Any:
        return array(s), generate

    return get


@cache
def row_accessor(row: Row) -> Any:
    """What stands for a :class:`Row`: one record of the array, where it lies."""
    from numba.core import types
    from numba.extending import intrinsic
    from numba.np import numpy_support

    record = numpy_support.from_dtype(row.field.dtype)
    item = row.field.dtype.itemsize

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        whole = context.get_value_type(types.int64)
        address = _load(context, builder, signature.args[0], arguments[0], 2 * row.field.number)
        offset = builder.mul(arguments[1], whole(item))
        return builder.inttoptr(builder.add(address, offset), context.get_value_type(record))

    @intrinsic
    def get(typing: Any, s: Any, place: Any) -> Any:
        return record(s, types.int64), generate

    return get
