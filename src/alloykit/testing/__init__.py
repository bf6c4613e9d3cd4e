"""Tools to test methods outside of alloykit: `check_method`, random outputs of teachers, tiny models.

    from alloykit.testing import check_method

    def test_my_method():
        check_method(MyMethod)
        check_method(MyMethod, {"sharpness": 3.0})

`check_method` needs no model and no file. `alloykit.testing.tiny` makes tiny random models for complete runs.
"""

from alloykit.testing.check_method import RULES, check_method, check_rule

__all__ = ["RULES", "check_method", "check_rule"]
