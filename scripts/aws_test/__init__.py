"""`make aws-test`: the controller in a sandbox account of AWS, once, and everything removed again.

    arguments ──▶ plan      what it will create, and cost at most
                  journal   what may exist, written before it is created
                  sandbox   the steps that create it
                  scenarios what happens to tasks, and what Consul must show by when
                  figures   the times and the cost, from timestamps and usage
                  clean_up  removes what the journal has

docs/contributing/aws-test.md is the page of its users.
"""


class Problem(Exception):
    """Why the run cannot go on: what failed, on what, why, and what to do."""
