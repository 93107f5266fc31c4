"""Resolve, plan, read, fold, order, account: one generator of events behind every surface. Names no agent."""
