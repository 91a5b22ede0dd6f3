"""The study of training policies beside the published curves: mean JCT over load, and makespan."""
