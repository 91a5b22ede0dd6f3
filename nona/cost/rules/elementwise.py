"""Element-wise functions: one FLOP per output element; casts and copies none."""

from __future__ import annotations

from nona.cost.rules.registry import rule
from nona.cost.rules.site import Site
from nona.graph.model import Work


@rule(
    *("Abs", "Acos", "Acosh", "Add", "And", "Asin", "Asinh", "Atan", "Atanh", "Div", "Mul", "Sub"),
    *("BitShift", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "Ceil", "Celu", "Clip", "Cos"),
    *("Cosh", "Elu", "Equal", "Erf", "Exp", "Floor", "Gelu", "Greater", "GreaterOrEqual", "HardSigmoid"),
    *("HardSwish", "IsInf", "IsNaN", "LeakyRelu", "Less", "LessOrEqual", "Log", "Mish", "Mod", "Neg"),
    *("Not", "Or", "PRelu", "Pow", "Reciprocal", "Relu", "Round", "Selu", "Shrink", "Sigmoid", "Sign"),
    *("Sin", "Sinh", "Softplus", "Softsign", "Sqrt", "Swish", "Tan", "Tanh", "ThresholdedRelu", "Xor"),
    *("BiasGelu", "FastGelu", "QuickGelu", "QLinearAdd", "QLinearMul", "QLinearSigmoid"),
    *("QuantizeLinear", "DequantizeLinear", "RotaryEmbedding", "SwiGLU"),
    launch="fused",
)
def elementwise(site: Site) -> Work:
    """One FLOP per element of the output."""
    return site.work(flops=site.output_elements)


@rule("Sum", "Mean", "Max", "Min", launch="fused")
def variadic(site: Site) -> Work:
    """One FLOP per element and pair of inputs."""
    pairs = max(sum(1 for n in site.operator.inputs if n) - 1, 1)
    return site.work(flops=pairs * site.output_elements)


@rule("Cast", "CastLike", "Where", launch="fused")
def selection(site: Site) -> Work:
    """No arithmetic: the bytes count."""
    return site.work()


@rule("DynamicQuantizeLinear")
def dynamic_quantisation(site: Site) -> Work:
    """The range first, then scale, round and shift."""
    return site.work(flops=4 * site.input_elements)


@rule("Bernoulli", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial")
def random_numbers(site: Site) -> Work:
    """One FLOP per number drawn."""
    return site.work(flops=site.output_elements)
