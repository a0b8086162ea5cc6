"""Fitted models as files and as code: without pickle, and without what they were fitted with."""
