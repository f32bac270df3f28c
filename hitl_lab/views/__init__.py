"""Views: text, HTML, the stepper widget, comparison, graph drawing. They read frames and know no LangGraph."""
