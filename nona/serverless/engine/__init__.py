"""The simulated platform, event by event.

* ``run`` has the loop and ``simulate_serverless``; ``options`` what a run is asked; ``events`` what happens;
* ``tables`` holds the system in plain lists, ``calls`` what is known of every call, ``queues`` the AFW
  queues;
* ``controller`` says which queue is examined when, ``decision`` what came of it, ``choice`` which invoker
  takes a batch; ``execution`` starts and ends batches (``running``), with ``phases`` where they slow each
  other down;
* ``invokers`` keeps what is free, ``transfer`` what fetching takes, ``collector`` writes everything down;
* ``parts`` holds these together;
* ``compiled`` does all that in machine code, with equal records, where the system allows it.

Inside the loop there are plain lists, whole numbers and floats: NumPy's scalars would be slower.
"""
