"""Serverless workflows on shareable GPUs: functions that are batched, sized and dispatched to keep an SLO.

Where a thing lives:

* what is described: ``configuration``, ``function`` (times by law or table), ``catalogue`` (the shipped
  ones), ``application``, ``system`` (all of it in arrays);
* how a GPU is shared: :mod:`nona.gpu_sharing`; ``sharing/`` is what that means for a system's times;
* how a batch is configured: ``policy`` (what a policy is), ``policies/`` (by name), ``esg/`` (search, SLO
  distribution), ``oracle`` (the least that any policy can pay);
* where it goes: ``dispatch/`` (OpenWhisk's home invoker, the lists of fallbacks, containers);
* what happens: ``arrivals`` (the same for every policy) and ``engine/``, which leaves ``records``;
  ``replications`` runs many; ``metrics``, ``overload`` and ``checks`` read what they leave.
"""
