"""Repositories that are gated, private, missing, or asked for with a wrong token."""

from pathlib import Path

import pytest

from controlplane.sources import SourceOptions, resolve
from tests.hub_server import HubServer
from tests.sources.hub.asking import Repository, fetched, refusal


def test_a_token_opens_a_gated_repository_and_stays_with_the_hub(
    hub: HubServer, tiny: Path, options: SourceOptions, repository: Repository, tmp_path: Path
) -> None:
    hub.add("org/tiny", tiny, gated=True, readers={"hf_good"})
    resolved = resolve(repository(), token="hf_good", options=options)
    fetched(resolved, tmp_path / "model", options, token="hf_good")
    assert {each.token for each in hub.requests if "/cdn/" in each.path} == {None}


def test_gated_without_a_token_names_the_secret_to_set(
    hub: HubServer, tiny: Path, options: SourceOptions, repository: Repository
) -> None:
    hub.add("org/tiny", tiny, gated=True, readers={"hf_good"})
    failure = refusal(lambda: resolve(repository(), token=None, options=options)).failure
    assert failure.code == "EHF-GATED"
    assert "`hf_access_token` is not a stored secret that the config lists" in failure.sentence
    assert f"{hub.url}/org/tiny" in (failure.hint or "")


def test_gated_for_this_token_says_that_access_was_not_given(
    hub: HubServer, tiny: Path, options: SourceOptions, repository: Repository
) -> None:
    hub.add("org/tiny", tiny, gated=True, readers={"hf_good"})
    hub.tokens.add("hf_other")
    outcome = refusal(lambda: resolve(repository(), token="hf_other", options=options))
    assert outcome.failure.code == "EHF-GATED"
    assert "has not been given access" in outcome.failure.sentence
    assert "hf_other" not in str(outcome.failure.to_json())


@pytest.mark.parametrize("token", [None, "hf_other"])
def test_a_missing_and_a_private_repository_read_alike(
    hub: HubServer, tiny: Path, options: SourceOptions, repository: Repository, token: str | None
) -> None:
    hub.add("org/secret", tiny, private=True, readers={"hf_good"})
    hub.tokens.add("hf_other")
    for name in ("org/nowhere", "org/secret"):
        outcome = refusal(lambda: resolve(repository(name), token=token, options=options))  # noqa: B023
        assert outcome.failure.code == "EHF-NOT-FOUND"
        assert f"`{name}`" in outcome.failure.sentence


def test_a_missing_revision_is_named(
    hub: HubServer, tiny: Path, options: SourceOptions, repository: Repository
) -> None:
    hub.add("org/tiny", tiny)
    failure = refusal(
        lambda: resolve(repository(revision="v9"), token=None, options=options)
    ).failure
    assert failure.code == "EHF-REVISION"
    assert "`v9`" in failure.sentence
    assert (failure.field or "").endswith("checkpoint_repository.revision")
    assert failure.fix == {failure.field: None}


def test_a_bad_token_is_told_from_a_missing_repository(
    hub: HubServer, tiny: Path, options: SourceOptions, repository: Repository
) -> None:
    hub.add("org/tiny", tiny)
    outcome = refusal(lambda: resolve(repository(), token="hf_stale", options=options))
    assert outcome.failure.code == "EHF-TOKEN"
    assert "hf_stale" not in str(outcome.failure.to_json())
