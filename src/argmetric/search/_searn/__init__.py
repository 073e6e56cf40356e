"""SEARN for any task and loss: tasks, policies, learners and the search itself."""
