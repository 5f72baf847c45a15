"""What was chosen comes back from its JSON form as it was."""

from __future__ import annotations

import json
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu_target.schedule_rules.choice import RouteTaken, of_json, to_json
from npu_target.schedule_rules.template_tilings import TemplateTiling
from npu_target.schedule_rules.tilings import Tiling
from npu_target.topi.mac_structure import STEP_ORDERS, MacStructure

NAMES = {"tiles": ["weights_kept", "inputs_kept"], "step_order": sorted(STEP_ORDERS)}
structures = st.builds(
    MacStructure,
    **{
        field.name: st.sampled_from(NAMES[field.name]) if field.name in NAMES else st.booleans()
        for field in fields(MacStructure)
    },
)
sizes = st.tuples(st.integers(1, 2**31), st.integers(1, 2**31))
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**31), 2**31) | st.text(),
    lambda inner: st.lists(inner),
)
choices = st.one_of(
    st.builds(
        Tiling, structures | st.booleans(), st.dictionaries(st.sampled_from("abcdef"), sizes)
    ),
    st.builds(TemplateTiling, plain),
    st.builds(RouteTaken, st.text()),
)


@given(choices)
def test_it_comes_back_as_it_was(choice):
    assert of_json(json.loads(json.dumps(to_json(choice)))) == choice


@pytest.mark.parametrize(
    "data", [{}, {"structure": True}, {"structure": {"no": 1}, "tiles": {}}, [], 7, None]
)
def test_what_is_no_choice_is_refused(data):
    with pytest.raises((KeyError, TypeError, ValueError, AttributeError)):
        of_json(data)
