"""Names of GPUs as nvidia-smi, GPU feature discovery and Ray print them, and the devices of the catalogue.

GPU feature discovery writes the name of nvidia-smi with ``-`` for blanks and adds ``-SHARED`` or
``-MIG-<profile>``.
"""

from __future__ import annotations

import re
from types import MappingProxyType

from nona.cluster.hardware.device import devices

PRODUCTS = MappingProxyType(
    {
        "v100": "Tesla V100-SXM2-16GB",
        "t4": "Tesla T4",
        "a10": "NVIDIA A10",
        "a10g": "NVIDIA A10G",
        "a30": "NVIDIA A30",
        "a40": "NVIDIA A40",
        "a100-40gb": "NVIDIA A100-SXM4-40GB",
        "a100-80gb": "NVIDIA A100-SXM4-80GB",
        "h100": "NVIDIA H100 80GB HBM3",
        "h100-pcie": "NVIDIA H100 PCIe",
        "h100-nvl": "NVIDIA H100 NVL",
        "h200": "NVIDIA H200",
        "h20": "NVIDIA H20",
        "gh200": "NVIDIA GH200 480GB",
        "l4": "NVIDIA L4",
        "l40": "NVIDIA L40",
        "l40s": "NVIDIA L40S",
        "b200": "NVIDIA B200",
        "b300": "NVIDIA B300 SXM6 AC",
        "gb200": "NVIDIA GB200",
        "k80": "Tesla K80",
        "p100": "Tesla P100-SXM2-16GB",
        "rtx-4090": "NVIDIA GeForce RTX 4090",
        "rtx-6000-ada": "NVIDIA RTX 6000 Ada Generation",
        "rtx-pro-6000": "NVIDIA RTX PRO 6000 Blackwell Server Edition",
    }
)
"""Device → the name that nvidia-smi prints for it."""

# First match counts; {40|80} stands for the memory that the name or the node says.
_PATTERNS: tuple[tuple[str, str], ...] = (
    (r"gh200", "gh200"),
    (r"gb200", "gb200"),
    (r"b300", "b300"),
    (r"b200", "b200"),
    (r"h200", "h200"),
    (r"h100[ -]?nvl", "h100-nvl"),
    (r"h100[ -]?pcie", "h100-pcie"),
    (r"h100", "h100"),
    (r"\bh20\b", "h20"),
    (r"a100.*40 ?gb?", "a100-40gb"),
    (r"a100.*80 ?gb?", "a100-80gb"),
    (r"a100", "a100"),
    (r"a10g", "a10g"),
    (r"\ba10\b", "a10"),
    (r"\ba30\b", "a30"),
    (r"\ba40\b", "a40"),
    (r"v100", "v100"),
    (r"p100", "p100"),
    (r"k80", "k80"),
    (r"\bt4\b", "t4"),
    (r"\bl40s\b", "l40s"),
    (r"\bl40\b", "l40"),
    (r"\bl4\b", "l4"),
    (r"rtx pro 6000", "rtx-pro-6000"),
    (r"rtx 6000 ada", "rtx-6000-ada"),
    (r"rtx 4090", "rtx-4090"),
    (r"mi325x", "mi325x"),
    (r"mi300x", "mi300x"),
)
_ENDING = re.compile(r"-SHARED$|-MIG-[\w.+]+(?:-SHARED)?$")


def plain_product(product: str) -> str:
    """Return a product's name without what GPU feature discovery adds to it.

    >>> plain_product("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"), plain_product("Tesla-T4-SHARED")
    ('NVIDIA-A100-SXM4-40GB', 'Tesla-T4')
    """
    return _ENDING.sub("", product)


def device_named(product: str, memory_mib: float | None = None) -> str:
    """Return the device with this product's name; empty where none is known.

    >>> device_named("NVIDIA-A100-SXM4-80GB"), device_named("Tesla T4"), device_named("A100", 40960)
    ('a100-80gb', 't4', 'a100-40gb')
    >>> device_named("Voodoo 2")
    ''
    """
    name = re.sub(r"[-_ ]+", " ", plain_product(product)).lower()
    if product.lower() in devices():
        return product.lower()
    for pattern, device in _PATTERNS:
        if re.search(pattern, name):
            if device == "a100":
                return "a100-80gb" if (memory_mib or 0) > 50_000 else "a100-40gb"
            return device
    return ""


def device_problem(name: str) -> str:
    """Return why the catalogue has no device of this name; empty where it has one."""
    known = devices()
    return "" if name in known else f"{name[:60]!r} is no known device; use one of {', '.join(known)}."


def label_of(device: str) -> str:
    """Return the value of the label ``nvidia.com/gpu.product`` on nodes with this device.

    >>> label_of("a100-80gb")
    'NVIDIA-A100-SXM4-80GB'
    """
    return PRODUCTS[device].replace(" ", "-") if device in PRODUCTS else ""
