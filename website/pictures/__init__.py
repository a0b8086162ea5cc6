"""Pictures of the pages of the guide: ``python website/pictures [NAME ...]`` draws them into ``docs/images/pages``.

A picture of a page is drawn from the objects that the page's own examples leave, so that it shows what they compute.
"""
