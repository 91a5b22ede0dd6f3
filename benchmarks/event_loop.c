/* A plain event loop, the yardstick of the compiled engine: jobs that are graphs of tasks on first-come-
 * first-served executors of one server each, one shared first-come-first-served link without latency,
 * every task on an executor drawn uniformly. All random numbers are drawn before; the completion instants
 * come out. Ties are broken by content: last inputs before task ends before arrivals, then job, then item.
 * benchmarks/c_loop.py compiles it and calls run(). */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#define OPEN_BITS 16 /* at most 2^16 jobs between the oldest open one and the newest */
#define OPEN (1 << OPEN_BITS)
#define KIND_SHIFT 60
#define JOB_SHIFT 20

enum { DELIVERY, TASK_END };

typedef struct { /* the query classes, as compressed rows */
    const int64_t *task_first; /* (classes + 1) row of the first task of each class */
    const double *time_s;      /* (rows) modelled seconds of each task */
    const int64_t *inputs;     /* (rows) tensors that each task reads */
    const int64_t *edge_first; /* (rows + 1) its outputs: one message to one task each */
    const int64_t *edge_target, *edge_number; /* (edges) the task, the place of the input among all */
    const double *edge_work_s;                /* (edges) seconds on the link */
} Graphs;

typedef struct { /* the jobs in order of arrival */
    int64_t n;
    const double *arrival_s;
    const int64_t *query, *service_first; /* (n) class; where the draws of its tasks begin */
    const double *service, *uniform;      /* draws of mean 1; (n, uniforms) draws for the placement */
    int64_t uniforms;
} Jobs;

typedef struct {
    double time_s;
    uint64_t key; /* kind, job, item */
    int64_t task;
} Event;

typedef struct { /* a task of an open job */
    int64_t missing, executor, next; /* inputs; where it runs; who stands behind it in the queue */
    double latest_s;                 /* the last known delivery of an input, and its number */
    int64_t latest_number;
} Task;

typedef struct {
    int64_t active, head, tail; /* tasks in the queue are named by slot * width + task */
} Executor;

typedef struct {
    const Graphs *graphs;
    const Jobs *jobs;
    Event *heap;
    int64_t events, room, width;
    Task *tasks;
    Executor *executors;
    int64_t *left; /* (OPEN) tasks of each open job that are not complete */
    double link_free_s;
} Loop;

static int before(const Event *a, const Event *b) {
    return a->time_s < b->time_s || (a->time_s == b->time_s && a->key < b->key);
}

static void push(Loop *l, double time_s, uint64_t kind, int64_t job, int64_t item, int64_t task) {
    if (l->events == l->room) {
        l->room *= 2;
        l->heap = realloc(l->heap, l->room * sizeof(Event));
    }
    Event e = {time_s, kind << KIND_SHIFT | (uint64_t)job << JOB_SHIFT | (uint64_t)item, task};
    int64_t at = l->events++;
    while (at && before(&e, &l->heap[(at - 1) / 2])) {
        l->heap[at] = l->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    l->heap[at] = e;
}

static Event pop(Loop *l) {
    Event first = l->heap[0], last = l->heap[--l->events];
    int64_t at = 0, child;
    while ((child = 2 * at + 1) < l->events) {
        if (child + 1 < l->events && before(&l->heap[child + 1], &l->heap[child])) child++;
        if (!before(&l->heap[child], &last)) break;
        l->heap[at] = l->heap[child];
        at = child;
    }
    l->heap[at] = last;
    return first;
}

static Task *task_of(Loop *l, int64_t job, int64_t task) {
    return &l->tasks[(job & (OPEN - 1)) * l->width + task];
}

static void start(Loop *l, double now, int64_t job, int64_t task) {
    double service = l->graphs->time_s[l->graphs->task_first[l->jobs->query[job]] + task];
    service *= l->jobs->service[l->jobs->service_first[job] + task];
    push(l, now + service, TASK_END, job, task, task);
}

/* The last input of the task is there: it starts, or stands in the queue of its executor. */
static void join(Loop *l, double now, int64_t job, int64_t task) {
    Task *t = task_of(l, job, task);
    Executor *e = &l->executors[t->executor];
    if (!e->active) {
        e->active = 1;
        start(l, now, job, task);
        return;
    }
    int64_t name = job * l->width + task;
    t->next = -1;
    if (e->head < 0) e->head = name;
    else task_of(l, e->tail / l->width, e->tail % l->width)->next = name;
    e->tail = name;
}

static void arrive(Loop *l, int64_t job, int64_t executors) {
    const Graphs *g = l->graphs;
    int64_t row = g->task_first[l->jobs->query[job]];
    int64_t n = g->task_first[l->jobs->query[job] + 1] - row;
    l->left[job & (OPEN - 1)] = n;
    for (int64_t i = 0; i < n; i++) {
        double u = l->jobs->uniform[job * l->jobs->uniforms + i];
        *task_of(l, job, i) = (Task){g->inputs[row + i], (int64_t)(u * executors), -1, 0.0, 0};
    }
    for (int64_t i = 0; i < n; i++)
        if (!g->inputs[row + i]) join(l, l->jobs->arrival_s[job], job, i);
}

/* Hand on the results of a task that has ended, then let its executor go on. */
static void finish(Loop *l, double now, int64_t job, int64_t task) {
    const Graphs *g = l->graphs;
    int64_t row = g->task_first[l->jobs->query[job]] + task;
    int64_t here = task_of(l, job, task)->executor;
    for (int64_t k = g->edge_first[row]; k < g->edge_first[row + 1]; k++) {
        Task *t = task_of(l, job, g->edge_target[k]);
        if (t->executor != here) { /* the link's queue is a single number: when it will be free */
            double from = l->link_free_s < now ? now : l->link_free_s;
            double delivered = l->link_free_s = from + g->edge_work_s[k];
            if (delivered >= t->latest_s) {
                int64_t number = g->edge_number[k];
                if (delivered > t->latest_s || number > t->latest_number) t->latest_number = number;
                t->latest_s = delivered;
            }
        }
        if (--t->missing) continue;
        if (t->latest_s > now) push(l, t->latest_s, DELIVERY, job, t->latest_number, g->edge_target[k]);
        else join(l, now, job, g->edge_target[k]);
    }
    Executor *e = &l->executors[here];
    int64_t name = e->head;
    if (name < 0) {
        e->active = 0;
        return;
    }
    e->head = task_of(l, name / l->width, name % l->width)->next;
    start(l, now, name / l->width, name % l->width);
}

/* Run until the first `wanted` jobs are complete. Returns 0; 1 when too many jobs are open at once or out
 * of memory; 2 when the jobs given do not suffice. */
int run(const Graphs *graphs, const Jobs *jobs, int64_t executors, int64_t width, int64_t wanted,
        double *completion_s) {
    Loop l = {graphs, jobs, malloc(64 * sizeof(Event)), 0, 64, width, NULL, NULL, NULL, 0.0};
    l.tasks = malloc(OPEN * width * sizeof(Task));
    l.executors = malloc(executors * sizeof(Executor));
    l.left = calloc(OPEN, sizeof(int64_t));
    int64_t next = 0, left = wanted;
    int failed = !(l.heap && l.tasks && l.executors && l.left);
    for (int64_t i = 0; i < executors && !failed; i++) l.executors[i] = (Executor){0, -1, -1};
    while (left && !failed) {
        if (!l.events || (next < jobs->n && jobs->arrival_s[next] < l.heap[0].time_s)) {
            if (next == jobs->n) failed = 2;
            else if (l.left[next & (OPEN - 1)]) failed = 1;
            else arrive(&l, next++, executors);
            continue;
        }
        Event e = pop(&l);
        int64_t job = (int64_t)(e.key >> JOB_SHIFT & ((1ULL << (KIND_SHIFT - JOB_SHIFT)) - 1));
        if (e.key >> KIND_SHIFT == DELIVERY) {
            join(&l, e.time_s, job, e.task);
            continue;
        }
        finish(&l, e.time_s, job, e.task);
        if (--l.left[job & (OPEN - 1)]) continue;
        completion_s[job] = e.time_s;
        left -= job < wanted;
    }
    free(l.heap);
    free(l.tasks);
    free(l.executors);
    free(l.left);
    return failed;
}
