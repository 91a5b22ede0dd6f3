"""The serverless system: functions, configurations, applications, calls, in arrays."""
