"""Recording: events, recorder, and the seams into LangGraph."""
