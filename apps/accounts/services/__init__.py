"""Writes of people, teams, keys and sign-ins."""

from apps.accounts.services.addresses import person_set_email, single_sign_on_forget
from apps.accounts.services.api_keys import (
    LIMITS,
    KeyLimits,
    MadeApiKey,
    api_key_create,
    api_key_revoke,
)
from apps.accounts.services.bootstrap import Bootstrap, admin_bootstrap, admin_ensure
from apps.accounts.services.invitations import (
    MadeInvitation,
    invitation_accept,
    invitation_accept_as_new,
    invitation_create,
    invitation_withdraw,
)
from apps.accounts.services.members import (
    member_add,
    member_remove,
    member_set_role,
    person_deactivate,
    person_reactivate,
    person_set_admin,
)
from apps.accounts.services.own_account import (
    browser_end,
    browsers_end_others,
    password_change,
    session_kept,
)
from apps.accounts.services.page_keys import page_key_text
from apps.accounts.services.restricted_environments import (
    environment_release,
    environment_restrict,
    environment_set_people,
)
from apps.accounts.services.sign_in_links import (
    sign_in_link_create,
    sign_in_link_redeem,
    sign_in_link_url,
)
from apps.accounts.services.sign_ins import (
    awaited_user,
    code_sign_in,
    lock_lift,
    password_sign_in,
    sign_in,
    sign_out,
)
from apps.accounts.services.teams import team_create, team_delete, team_enter, team_rename
from apps.accounts.services.two_steps import (
    has_two_steps,
    two_steps_begin,
    two_steps_confirm,
    two_steps_end,
)

__all__ = [
    "LIMITS",
    "Bootstrap",
    "KeyLimits",
    "MadeApiKey",
    "MadeInvitation",
    "admin_bootstrap",
    "admin_ensure",
    "api_key_create",
    "api_key_revoke",
    "awaited_user",
    "browser_end",
    "browsers_end_others",
    "code_sign_in",
    "environment_release",
    "environment_restrict",
    "environment_set_people",
    "has_two_steps",
    "invitation_accept",
    "invitation_accept_as_new",
    "invitation_create",
    "invitation_withdraw",
    "lock_lift",
    "member_add",
    "member_remove",
    "member_set_role",
    "page_key_text",
    "password_change",
    "password_sign_in",
    "person_deactivate",
    "person_reactivate",
    "person_set_admin",
    "person_set_email",
    "session_kept",
    "sign_in",
    "sign_in_link_create",
    "sign_in_link_redeem",
    "sign_in_link_url",
    "sign_out",
    "single_sign_on_forget",
    "team_create",
    "team_delete",
    "team_enter",
    "team_rename",
    "two_steps_begin",
    "two_steps_confirm",
    "two_steps_end",
]
