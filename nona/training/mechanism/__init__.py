"""The mechanism: from shares of time to who runs where in the next round."""
