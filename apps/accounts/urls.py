from django.urls import URLPattern, path

from apps.accounts.audit import api as audit_api
from apps.accounts.audit import views as audit
from apps.accounts.environments import api as environments
from apps.accounts.keys import api as keys_api
from apps.accounts.keys import views as keys
from apps.accounts.own_account import views as account
from apps.accounts.people import api as people_api
from apps.accounts.people import joining
from apps.accounts.people import views as people
from apps.accounts.signing_in import views as signing_in
from apps.accounts.teams import api as teams_api
from apps.accounts.teams import views as teams
from apps.rest import converters as _converters  # noqa: F401  (registers `<id:…>`)

app_name = "accounts"
urlpatterns: list[URLPattern] = [
    path("sign-in/", signing_in.sign_in_page, name="sign_in"),
    path("sign-in/code/", signing_in.code_page, name="code"),
    path("sign-in/<str:token>/", signing_in.sign_in_link, name="sign_in_link"),
    path("session/", signing_in.session, name="session"),
    path("sign-out/", signing_in.sign_out_page, name="sign_out"),
    path("join/<str:token>/", joining.join, name="join"),
    path("account/", account.account, name="account"),
    path("account/password/", account.change_password, name="change_password"),
    path("account/two-steps/begin/", account.begin_two_steps, name="begin_two_steps"),
    path("account/two-steps/confirm/", account.confirm_two_steps, name="confirm_two_steps"),
    path("account/two-steps/end/", account.end_two_steps, name="end_two_steps"),
    path("account/browsers/end/", account.end_other_browsers, name="end_other_browsers"),
    path("account/browsers/<id:browser_id>/end/", account.end_browser, name="end_browser"),
    path("audit/", audit.audit_trail, name="audit"),
    path("audit/export.<str:kind>", audit.audit_export, name="audit_export"),
    path("keys/", keys.key_list, name="keys"),
    path("keys/create/", keys.key_create, name="key_create"),
    path("keys/<str:key_id>/revoke/", keys.key_revoke, name="key_revoke"),
    path("people/", people.people, name="people"),
    path("people/invite/", people.invite, name="invite"),
    path("people/invitations/<id:invitation_id>/withdraw/", people.withdraw, name="withdraw"),
    path("people/<id:user_id>/role/", people.set_role, name="set_role"),
    path("people/<id:user_id>/remove/", people.remove, name="remove"),
    path("people/<id:user_id>/status/", people.set_account_status, name="set_account_status"),
    path("people/restrict/", teams.restrict, name="restrict"),
    path("people/restricted/<name:name>/release/", teams.release, name="release"),
    path("teams/", teams.teams, name="teams"),
    path("teams/create/", teams.create, name="team_create"),
    path("teams/<id:team_id>/enter/", teams.enter, name="team_enter"),
    path("teams/<id:team_id>/rename/", teams.rename, name="team_rename"),
    path("teams/<id:team_id>/delete/", teams.delete, name="team_delete"),
]
_TEAM = "teams/<id:team_id>"
api: list[URLPattern] = [
    path("teams", teams_api.TeamListView.as_view(), name="teams"),
    path(_TEAM, teams_api.TeamDetailView.as_view(), name="team"),
    path(f"{_TEAM}/api_keys", keys_api.TeamApiKeyListView.as_view(), name="team_api_keys"),
    path(f"{_TEAM}/members", people_api.MemberListView.as_view(), name="members"),
    path(f"{_TEAM}/members/<id:user_id>", people_api.MemberDetailView.as_view(), name="member"),
    path(f"{_TEAM}/invitations", people_api.InvitationListView.as_view(), name="invitations"),
    path(
        f"{_TEAM}/invitations/<id:invitation_id>",
        people_api.InvitationDetailView.as_view(),
        name="invitation",
    ),
    path(f"{_TEAM}/restricted_environments", environments.RestrictedEnvironmentListView.as_view()),
    path(
        f"{_TEAM}/restricted_environments/<name:name>",
        environments.RestrictedEnvironmentDetailView.as_view(),
    ),
    path("users", people_api.PersonListView.as_view(), name="users"),
    path("users/me", people_api.MeView.as_view(), name="me"),
    path("users/<id:user_id>", people_api.PersonDetailView.as_view(), name="user"),
    path("audit", audit_api.AuditListView.as_view(), name="audit"),
    path("audit/export", audit_api.AuditExportView.as_view(), name="audit_export"),
    path("api_keys", keys_api.ApiKeyListView.as_view(), name="api_keys"),
    path("api_keys/<id:prefix>", keys_api.ApiKeyDetailView.as_view(), name="api_key"),
]
internal: list[URLPattern] = []
