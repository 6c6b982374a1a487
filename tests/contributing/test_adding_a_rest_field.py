"""`contributing/adding_a_rest_field.md`, followed in a copy of the tree."""

from pathlib import Path

from tests.contributing.throwaway import copy_tree, not_as_listed

PAGE = "adding_a_rest_field"
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


def test_a_rest_field_takes_the_files_of_its_page_and_is_described(tmp_path: Path) -> None:
    copy = copy_tree(tmp_path)
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
    assert not_as_listed(PAGE, copy.changed()) == []
    copy.test("tests/contracts/test_rest_examples.py", "tests/apps/fleet/test_api.py")
