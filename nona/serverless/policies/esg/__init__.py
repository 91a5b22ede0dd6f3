"""ESG: the search for configurations of a group of functions, and the SLO that each group gets.

Where a thing lives: ``tables`` (a group's configurations, sorted, with their suffix sums), ``best_first``,
``stages``, ``every`` (the compiled searches), ``search`` (one interface over them), ``slo_distribution``
(groups and shares by dominators), ``explain`` (the search step by step), ``warm`` (compile ahead).
Source: Hui, Xu, Guo and Shen, ESG: pipeline-conscious efficient scheduling of DNN workflows on serverless
platforms with shareable GPUs, HPDC 2024; read in slides and summaries, not in the paper itself.
"""
