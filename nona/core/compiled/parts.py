"""How Numba compiles a function that only compiled code calls: its code goes into that of its callers.

Numba makes machine code of every function, as Python might call it, and optimises it before it is put into a
caller, which is optimised as a whole again. Two compilers leave that out, by ``jit``'s ``pipeline_class``.
"""

from __future__ import annotations

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering


class _Part(JITCodeLibrary):
    """Code that callers link in, of which no machine code is made."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class _PlainPart(_Part):
    """The same, for one caller: it is optimised as a part of that, not before as well."""

    def _optimize_final_module(self) -> None:
        return


class _Lowering(NativeLowering):
    _library: type[_Part]

    def run_pass(self, state: Any) -> bool:
        state.library = self._library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        lowered = state["cr"]
        part = [state.library].copy  # callers find it by a built-in function of its own, which nobody calls
        state.targetctx.insert_user_function(part, lowered.fndesc, [state.library])
        state["cr"] = lowered._replace(cfunc=part)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class _LowerPart(_Lowering):
    _name: Any = "lower_part"
    _library = _Part


@register_pass(mutates_CFG=True, analysis_only=False)
class _LowerPlainPart(_Lowering):
    _name: Any = "lower_plain_part"
    _library = _PlainPart


class PartCompiler(CompilerBase):
    """For a function with several callers."""

    lowering: type[_Lowering] = _LowerPart

    def define_pipelines(self) -> list[Any]:
        """Return Numba's passes with the ``lowering`` of this class in place of its own."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(self.lowering, NativeLowering)
        passes.passes = [given for given in passes.passes if given[0] is not NativeLowering]
        passes.finalize()
        return [passes]


class PlainPartCompiler(PartCompiler):
    """For a function with one caller."""

    lowering = _LowerPlainPart
