"""Every setting, read once from the environment; `docs/settings.md` lists them for operators."""

import os
import sys
from datetime import timedelta
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from controlplane.database_url import database
from controlplane.enum_names import ENUM_NAMES
from controlplane.process_settings.control_plane import ControlPlaneSettings
from controlplane.process_settings.wrong import WrongSetting
from controlplane.secret_key import kept_secret_key

ROOT = Path(__file__).resolve().parent.parent
try:
    _given = ControlPlaneSettings.read(os.environ)
except WrongSetting as wrong:
    raise ImproperlyConfigured(str(wrong)) from None

DATA_DIR = _given.data_dir
DEBUG = _given.debug
DATABASE_URL = _given.database_url
BROKER_URL = _given.broker_url
ARTIFACT_URL = _given.artifact_url
PUBLIC_URL = _given.public_url
GATEWAY_URL = _given.gateway_url
GATEWAY_INTERNAL_URL = _given.gateway_internal_url
CONTROL_PLANE_URL = _given.control_plane_url
HF_ENDPOINT = _given.hf_endpoint
S3_ENDPOINT = _given.s3_endpoint
S3_REGION = _given.s3_region
GCS_ENDPOINT = _given.gcs_endpoint
AZURE_ENDPOINT = _given.azure_endpoint
AZURE_ACCOUNT = _given.azure_account
ALLOW_PRIVATE_ADDRESSES = _given.allow_private_addresses
ASYNC_RESULTS_HOURS = _given.async_results_hours
SECRET_TEST_HOSTS = _given.secret_test_hosts
LOCAL_CHECKPOINT_ROOTS = _given.local_checkpoint_roots
NODE_NAME = _given.node_name
BUILD_POOL = _given.build_pool
ENGINE_CPU_THREADS = _given.engine_cpu_threads
CALIBRATION_MAX_BYTES = _given.calibration_max_bytes
LOG_LEVEL = _given.log_level
TRACES_URL = _given.traces_url
METRICS_LISTEN = _given.metrics_listen
LOG_RETENTION_DAYS = _given.log_retention_days
LOG_MAX_BYTES = _given.log_max_bytes
# By the seconds of a bucket.
SERIES_KEPT = {
    10: timedelta(hours=_given.series_ten_seconds_hours),
    60: timedelta(days=_given.series_minutes_days),
    3600: timedelta(days=_given.series_hours_days),
    86400: timedelta(days=_given.series_days_days),
}
EMAIL_URL = _given.email_url or ""
EMAIL_FROM = _given.email_from
KEY_RING_FILE = _given.key_ring_file
SECRET_KEY = _given.secret_key or kept_secret_key(DATA_DIR)
ALLOWED_HOSTS = _given.allowed_hosts
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL]
CSRF_FAILURE_VIEW = "apps.accounts.signing_in.views.form_token_refused"

INSTALLED_APPS = [
    "controlplane",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.forms",
    "django_htmx",
    "allauth",
    "allauth.account",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "axes",
    "django_otp",
    "django_otp.plugins.otp_static",
    "django_otp.plugins.otp_totp",
    "rest_framework",
    "drf_spectacular",
    "apps.rest",
    "apps.ui",
    "apps.accounts",
    "apps.leases",
    "apps.secrets",
    "apps.fleet",
    "apps.telemetry",
    "apps.configs",
    "apps.builds",
    "apps.deployments",
    "apps.routes",
    "apps.alerts",
    "apps.benchmarks",
    "apps.async_requests",
    "apps.dashboard",
]

# Every kind of work that workers lease.
LEASE_KINDS = [
    "apps.secrets.services.trials.SECRET_TEST",
    "apps.configs.leasing.FACTS",
    "apps.configs.calibration_sets.leasing.PREVIEW",
    "apps.configs.lookahead_tunings.leasing.TUNING",
    "apps.builds.leasing.BUILD",
    "apps.builds.pushes.leasing.PUSH",
    "apps.alerts.deliveries.leasing.DELIVERY",
    "apps.benchmarks.leasing.BENCHMARK",
    "apps.async_requests.leasing.ASYNC_REQUEST",
    "apps.async_requests.webhooks.leasing.ASYNC_WEBHOOK",
    "apps.deployments.environments.rolling.answers.leasing.ANSWER_CHECK",
]
LEASES_JUDGED_WHILE = "apps.fleet.selectors.listened_for"

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "apps.ui.compression.CompressedPagesMiddleware",
    "apps.ui.middleware.ContentSecurityPolicyMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "apps.accounts.middleware.AuditMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "axes.middleware.AxesMiddleware",
]

# Of calls by our own processes, which carry a credential and see no page.
MACHINE_MIDDLEWARE = [
    "django.middleware.common.CommonMiddleware",
    "apps.accounts.middleware.AuditMiddleware",
]

ROOT_URLCONF = "controlplane.urls"
ASGI_APPLICATION = "controlplane.asgi.application"
# A form's errors are one of our templates.
FORM_RENDERER = "django.forms.renderers.TemplatesSetting"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [ROOT / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "apps.ui.context.shell",
            ]
        },
    }
]

# Commands that need no database (check_config, up) run without one; Django complains at first use.
DATABASES = {"default": database(DATABASE_URL)} if DATABASE_URL else {}
CACHES = {
    "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},
    # Of all web processes together. A server that does not answer holds up no request for long.
    "rate_limits": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": BROKER_URL,
        "KEY_PREFIX": "enginehouse:rest",
        "OPTIONS": {"socket_timeout": 0.25, "socket_connect_timeout": 0.25},
    },
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "apps.accounts.signing_in.backends.PasswordBackend",
]
AXES_FAILURE_LIMIT = 10
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_RESET_ON_SUCCESS = True
AXES_USERNAME_FORM_FIELD = "username"
AXES_USERNAME_CALLABLE = "apps.accounts.signing_in.services.account_of_attempt"
AXES_CLIENT_IP_CALLABLE = "apps.accounts.signing_in.address_brake.address_of"
AXES_SENSITIVE_PARAMETERS = ["email", "password"]
AXES_DISABLE_ACCESS_LOG = True
AXES_VERBOSE = False
SIGN_IN_ACCOUNTS_PER_ADDRESS = _given.sign_in_accounts_per_address
OTP_TOTP_ISSUER = "Enginehouse"
# Sign-in through the organisation's OpenID Connect provider, where one is named.
OIDC_ISSUER_URL = _given.oidc_issuer_url
OIDC_NAME = _given.oidc_name
OIDC_DOMAINS = _given.oidc_domains
NON_ASCII_EMAILS = _given.non_ascii_emails
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*", "password2*"]
SOCIALACCOUNT_ADAPTER = "apps.accounts.signing_in.oidc.adapter.OpenIdConnectAdapter"
# A link, since browsers hold a form's redirects to our own `form-action`.
SOCIALACCOUNT_LOGIN_ON_GET = True
SOCIALACCOUNT_OPENID_CONNECT_URL_PREFIX = ""
SOCIALACCOUNT_PROVIDERS = {
    "openid_connect": {
        "provider_class": "apps.accounts.signing_in.oidc.provider.OpenIdConnect",
        "OAUTH_PKCE_ENABLED": True,
        "APPS": [
            {
                "provider_id": "oidc",
                "name": OIDC_NAME,
                "client_id": _given.oidc_client_id,
                "secret": _given.oidc_client_secret,
                "settings": {"server_url": OIDC_ISSUER_URL},
            }
        ]
        if OIDC_ISSUER_URL
        else [],
    }
}
LOGIN_URL = "accounts:sign_in"
LOGIN_REDIRECT_URL = "dashboard:overview"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 12},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
USE_I18N = False

STATIC_URL = "/static/"
STATICFILES_DIRS = [ROOT / "static"]
# Our own files alone: what libraries bring along is not served, and not all of it is whole.
STATICFILES_FINDERS = ["django.contrib.staticfiles.finders.FileSystemFinder"]
STATIC_ROOT = DATA_DIR / "static"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "apps.ui.static_storage.HashedStaticFilesStorage"},
}
# Without a collected manifest (tests, DEBUG) files are served from where they lie.
WHITENOISE_USE_FINDERS = True
if DEBUG or "pytest" in sys.modules:
    STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}

SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
SESSION_ENGINE = "apps.accounts.signing_in.sessions"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = PUBLIC_URL.startswith("https://")
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SECURE_HSTS_SECONDS = 31_536_000 if SESSION_COOKIE_SECURE else 0
SILENCED_SYSTEM_CHECKS = [
    "security.W005",  # other names below the domain are not ours to bind to TLS
    "security.W008",  # the proxy that ends TLS redirects; agents ask past it
    "security.W021",  # nor to enter in the browsers' lists
]
DATA_UPLOAD_MAX_MEMORY_SIZE = 2_000_000
API_REQUESTS_PER_MINUTE = _given.api_requests_per_minute

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "apps.accounts.authentication.ApiKeyAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["apps.accounts.permissions.IsTeamMember"],
    "DEFAULT_RENDERER_CLASSES": ["apps.rest.renderers.AnyTextJSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["apps.rest.parsers.BoundedJSONParser"],
    "EXCEPTION_HANDLER": "apps.rest.error_answers.exception_handler",
    "DEFAULT_SCHEMA_CLASS": "apps.rest.schema.RestSchema",
    "UNAUTHENTICATED_USER": None,
    "URL_FORMAT_OVERRIDE": None,  # `?format=` is a parameter of exports, not a choice of renderer
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Enginehouse management API",
    "VERSION": "1",
    "SERVERS": [{"url": PUBLIC_URL}],
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["rest_framework.permissions.AllowAny"],
    "SCHEMA_PATH_PREFIX": "/v1",
    "PREPROCESSING_HOOKS": ["apps.rest.schema.only_public"],
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "apps.configs.config_components.with_config_file",
    ],
    "ENUM_NAME_OVERRIDES": ENUM_NAMES,
}

LOGGING_CONFIG = "apps.telemetry.logging.configure"
LOGGING = {"level": LOG_LEVEL}
