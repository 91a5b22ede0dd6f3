"""The families of jobs that this program knows, in the order of lists."""

#: Places of their declarations (:class:`nona.family.Family`): a fifth family is one folder and one line here.
FAMILIES = (
    "nona.family_queries:QUERIES",
    "nona.family_language:LANGUAGE",
    "nona.family_serverless:SERVERLESS",
    "nona.family_training:TRAINING",
)
