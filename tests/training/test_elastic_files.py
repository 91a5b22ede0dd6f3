"""Profiles and workloads in CSV: what is read, and what is refused."""

from importlib.resources import files

import numpy as np
import pytest

from nona.errors import ScenarioError, SimulationError
from nona.training.elastic.applications import Batches
from nona.training.elastic.profiles import Tables, read_applications, shipped_applications
from nona.training.elastic.system import Cluster, ElasticSystem
from nona.training.elastic.workload import at_load, read_workload, shipped_workload

OWN = Tables(
    applications=b"application,task,epochs,least_batch,most_batch,least_local,most_local,fixed_batch,most_gpus\n"
    b"mine,Toy,2,8,64,4,32,,\n",
    placements=b"application,placement,local_bsz,step_s,sync_s\n"
    b"mine,1,4,1.0,0.0\nmine,1,32,2.0,0.0\nmine,2,4,1.5,0.5\nmine,2,32,2.5,0.5\n",
    scalability=b"application,num_nodes,num_replicas,local_bsz,step_s,sync_s\n",
    epochs=b"application,batch_size,progress,iteration,grad_sqr,grad_var\n"
    b"mine,8,10,10,1,4\nmine,8,20,20,1,8\nmine,64,12,3,2,4\nmine,64,24,6,2,8\n",
)
JOBS = "name,arrival_s,application,gpus,batch_size\n"


def test_an_own_profile_is_interpolated_as_described():
    mine = read_applications(OWN, "mine")["mine"]
    assert mine.times.at((1,), 18).step_s == pytest.approx(1.5)
    assert mine.ends == (10.0, 20.0)  # the least over the batch sizes
    assert mine.noise(36, 1) == pytest.approx((1.5, 8.0))
    split = mine.batches.split(32, 2)
    gain = (4 + 1.428571) / (4 / 4 + 1.428571)
    assert mine.rate((2,), split, 0) == pytest.approx(gain / (1.5 + 12 / 28), rel=1e-6)
    with pytest.raises(SimulationError, match="33 samples on each GPU of placement 1 were not measured"):
        mine.times.at((1,), 33)


def test_shipped_times_are_those_measured_where_they_were():
    text = files("nona.training.elastic").joinpath("data/placements.csv").read_text(encoding="utf-8")
    for line in text.splitlines()[1::97]:
        name, digits, local, step, sync = line.split(",")
        times = shipped_applications()[name].times.at(tuple(map(int, digits)), int(local))
        assert times == pytest.approx((float(step), float(sync)))


def test_rotations_of_a_placement_are_equal():
    times = shipped_applications()["cifar10"].times
    assert times.at((4, 1, 2), 64) == times.at((1, 2, 4), 64) == times.at((2, 4, 1), 64)


def test_the_smallest_batch_gains_one_a_step():
    for application in shipped_applications().values():
        least = application.batches.least
        assert application.noise(least, 0).gain(1.0) == 1.0
        gains = [application.noise(least, 0).gain(k) for k in (1.0, 2.0, 4.0, 8.0)]
        assert (np.diff(gains) >= 0).all()
        assert all(gain <= k for gain, k in zip(gains, (1.0, 2.0, 4.0, 8.0), strict=True))


def test_a_split_covers_the_batch_within_the_limits():
    batches = Batches(128, 4096, 32, 1024)
    for batch in (128, 700, 2048, 4096):
        for gpus in range(1, min(64, batch // 32) + 1):
            split = batches.split(batch, gpus)
            assert 32 <= split.local <= 1024
            assert split.batch(gpus) <= 4096
            assert split.batch(gpus) > batch - gpus * (split.extra + 1)


@pytest.mark.parametrize(
    ("table", "old", "new", "reason"),
    [
        ("applications", b"2,8,64", b"2,80,64", "least batch sizes must not be above the most"),
        ("applications", b"mine,Toy", b"other,Toy", "application 'mine' has no limits"),
        ("placements", b"mine,1,4,1.0", b"mine,10,4,1.0", "one digit from 1 to 9 for each node"),
        ("placements", b"1.5,0.5", b"1.5,1.5", "step_s=1.5 must be above sync_s=1.5"),
        ("placements", b",local_bsz", b",samples", "the column 'local_bsz' is missing"),
        ("epochs", b"mine,64,24,6,2,8\n", b"", "2 epochs at each batch size"),
        ("epochs", b"mine,8,20", b"mine,8,10", "progress and iteration must grow"),
        ("epochs", b"1,8\n", b"nan,8\n", "grad_sqr='nan' must be a number"),
    ],
)
def test_wrong_profiles_are_refused(table, old, new, reason):
    wrong = OWN._replace(**{table: getattr(OWN, table).replace(old, new, 1)})
    with pytest.raises(ScenarioError, match=reason):
        read_applications(wrong, "mine")


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("a,0,word2vec,1,8", "application='word2vec' is not known; choose from bert"),
        ("a,-1,bert,1,12", "arrival_s='-1' must be a number"),
        ("a,0,bert,0,12", "gpus='0' must be a whole number"),
        ("a,0,bert,1,500", "batch_size='500' must be a whole number from 12 to 384"),
        ("a,0,bert,4,12", "gpus=4 need a batch of at least 16 samples, not 12"),
        ("a,0,bert,1", "4 cells where the header has 5"),
    ],
)
def test_wrong_jobs_are_refused(row, reason):
    with pytest.raises(ScenarioError, match=reason):
        read_workload((JOBS + row + "\n").encode(), "jobs", shipped_applications())


def test_a_workload_without_jobs_is_refused():
    with pytest.raises(ScenarioError, match="it has no jobs"):
        read_workload(JOBS.encode(), "jobs", shipped_applications())


def test_systems_that_cannot_run_are_refused():
    jobs = shipped_workload(1)
    with pytest.raises(SimulationError, match="asks for 12 GPUs of 8"):
        ElasticSystem(Cluster(2, 4), jobs)
    with pytest.raises(SimulationError, match="interference 1 must be"):
        ElasticSystem(Cluster(), jobs, interference=1.0)
    with pytest.raises(SimulationError, match="two jobs have one name"):
        ElasticSystem(Cluster(), (jobs[0], jobs[0]))


def test_load_keeps_hours_and_adds_or_leaves_out_jobs():
    own, half, double = shipped_workload(4), at_load(4, 0.5), at_load(4, 2)
    assert at_load(4, 1) == own
    assert set(half) < set(own) < set(double)
    assert {job.arrival_s for job in double} == {job.arrival_s for job in (*own, *shipped_workload(1))}
    assert sum(job.name.startswith("w1-") for job in double) == 160
    with pytest.raises(SimulationError, match="Load 0 must be above 0"):
        at_load(4, 0.0)


@pytest.mark.parametrize("counts", [(1, 1), (3,), (2, 2)])
def test_what_lies_outside_a_flat_profile_is_refused_in_one_line(counts):
    """All of these measurements are on one node: there is nothing to triangulate."""
    mine = read_applications(OWN, "mine")["mine"]
    with pytest.raises(SimulationError, match="were not measured") as raised:
        mine.times.at(counts, 8)
    assert "\n" not in str(raised.value)
    assert ("most_gpus bounds them" in str(raised.value)) == (max(counts) <= 2)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (b"mine,8,20,20,1,8", b"mine,8,20,20,0,0", "grad_sqr and grad_var must not both be 0"),
        (b"mine,8,10,10,1,4", b"mine,8,0,10,1,4", "progress and iteration must grow from 0 on"),
        (b"mine,64,24,6,2,8", b"", "needs step times, and 2 epochs at each batch size; add rows"),
    ],
)
def test_epochs_with_which_nothing_could_run_are_refused(old, new, said):
    with pytest.raises(ScenarioError, match=said):
        read_applications(OWN._replace(epochs=OWN.epochs.replace(old, new)), "mine")
