"""Serverless workflows: what their simulations, their study and their capacity search say."""
