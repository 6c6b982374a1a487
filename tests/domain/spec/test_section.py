"""What every block of a config has in common."""

from controlplane.domain.rules.examples import BASE_CONFIG
from controlplane.domain.spec import Spec, parse_mapping


def parsed() -> Spec:
    spec = parse_mapping(BASE_CONFIG).spec
    assert spec is not None
    return spec


def test_a_block_that_is_not_given_is_made_once_for_all_configs() -> None:
    one, other = parsed(), parsed()
    assert one.model_metadata is other.model_metadata
    assert one.engine_build.quantization_config is other.engine_build.quantization_config
    assert one.settings is other.settings
    assert one.engine_build is not other.engine_build
