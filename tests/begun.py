"""The scenario with which tests of the app begin: a small one, where people's begin with one that ships."""

BEGUN = {
    "version": 1,
    "name": "My scenario",
    "cluster": {"servers": [{"count": 8, "gpu": "a100-40gb"}]},
    "workload": [{"model": "resnet18", "rate": "300/s", "slo": "40 ms"}],
    "simulation": {"jobs": 4000, "replications": 3},
}
