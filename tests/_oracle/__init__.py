"""Random graphs and random use of them, and a judge that holds the ledger against what the checkpointer gives back."""
