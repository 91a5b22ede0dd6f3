"""Instances that stand for AFW queues over time: started and stopped by load, serving batch after batch."""
