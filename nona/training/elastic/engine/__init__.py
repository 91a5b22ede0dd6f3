"""Time in ticks: jobs advance, then the policy is asked."""
