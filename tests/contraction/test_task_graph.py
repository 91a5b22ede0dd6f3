"""Task graphs made by hand."""

import numpy as np
import pytest

from nona.contraction.task_graph import TaskGraph
from nona.errors import GraphError


def test_edges_are_ordered_and_each_has_a_tensor_of_its_own():
    graph = TaskGraph.from_edges("g", [[1, 2, 3], [2, 4, 6]], [(1, 2, 5.0), (0, 2, 7.0), (0, 1, 9.0)])
    assert graph.compute_s.tolist() == [[1, 2, 3], [2, 4, 6]]
    assert graph.task_ids == ("t0", "t1", "t2")
    assert np.column_stack([graph.edge_source, graph.edge_target]).tolist() == [[0, 1], [0, 2], [1, 2]]
    assert graph.tensor_bytes[graph.edge_tensor].tolist() == [9.0, 7.0, 5.0]
    assert (graph.tensor_source[graph.edge_tensor] == graph.edge_source).all()
    assert graph.dag.predecessors == ((), (0,), (0, 1))


@pytest.mark.parametrize("edge", [(1, 0), (1, 1), (-1, 1), (0, 2)])
def test_edges_that_lead_nowhere_or_back_are_refused(edge):
    with pytest.raises(GraphError, match="must lead from one of 2 tasks to a later one"):
        TaskGraph.from_edges("g", [1.0, 1.0], [(*edge, 1.0)])
