"""The course around the notebooks: workspace, checks of the installation."""
