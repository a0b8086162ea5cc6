"""A callback that notes what a fit reports."""


class Recorder:
    """Notes the tasks that end, and asks to stop.

    Parameters
    ----------
    stop_at : int, default=None
        The iteration after which it does.
    stop_after : str, default=None
        The name of a task after which it does.
    """

    def __init__(self, stop_at=None, stop_after=None):
        self.stop_at = stop_at
        self.stop_after = stop_after
        self.names = []

    def setup(self, estimator, context):
        self.names.append("setup")

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        self.names.append(context.task_name)
        enough = self.stop_at is not None and self.names.count("iteration") == self.stop_at
        return enough or context.task_name == self.stop_after

    def teardown(self, estimator, context):
        self.names.append("teardown")
