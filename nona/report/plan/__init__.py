"""Report on what to buy: the answer in a sentence, a row for each option, the evidence."""
