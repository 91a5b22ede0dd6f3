"""The families of jobs that this program knows, in the order of lists."""

#: Places of their declarations (:class:`nona.core.family.Family`): a fifth family is one folder and one line
#: here.
FAMILIES = (
    "nona.queries.family:QUERIES",
    "nona.language.family:LANGUAGE",
    "nona.serverless.family:SERVERLESS",
    "nona.training.family:TRAINING",
)
