"""What `contributing/adding_a_rest_field.md` says of a field about nothing."""

from tests.contributing.throwaway import Change, Copy

FIELD = (
    '    is_throwaway = serializers.SerializerMethodField(help_text="Whether it has no address.")\n'
)
METHOD = """
    def get_is_throwaway(self, node: Node) -> bool:
        return not node.address
"""
TEST = """
def test_a_node_says_whether_it_is_a_throwaway(client: Client) -> None:
    make_serving_node()
    assert _get(client, make_api_key(), "/v1/nodes").json()["nodes"][0]["is_throwaway"] is False

"""


def _follow(copy: Copy) -> None:
    serializers = "apps/fleet/serializers.py"
    copy.put(serializers, FIELD, before="    clock_ahead_seconds = serializers.IntegerField(")
    copy.put(
        serializers,
        METHOD,
        after='return "live" if getattr(node, "is_alive", False) else "silent"\n',
    )
    copy.put(
        "apps/fleet/examples.py",
        '    "is_throwaway": False,\n',
        before='    "devices": [DEVICE],\n',
    )
    copy.put("tests/apps/fleet/test_api.py", TEST, before="\ndef _get(client")
    copy.put("CHANGELOG.md", "- A field about nothing.\n", after="### REST\n\n")


CHANGES = (
    Change(
        page="adding_a_rest_field",
        of="a REST field",
        follow=_follow,
        tests=("tests/contracts/test_rest_examples.py", "tests/apps/fleet/test_api.py"),
    ),
)
