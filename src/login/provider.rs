//! The identity provider: its metadata, and the claims of a person. Signature, issuer, audience,
//! nonce and expiry of an ID token are verified by the `openidconnect` library.

use std::sync::Arc;

use chatkeep_core::causes::with_causes;
use chatkeep_core::config::LoginConfig;
use chatkeep_core::outage::Work;
use chatkeep_core::secret::SharedSecret;
use chatkeep_core::time::{SharedClock, Timestamp};
use chrono::{DateTime, Utc};
use openidconnect::core::{
    CoreAuthenticationFlow, CoreErrorResponseType, CoreIdTokenClaims, CoreTokenResponse,
};
use openidconnect::{
    AuthorizationCode, ClaimsVerificationError, CsrfToken, Nonce, OAuth2TokenResponse as _,
    PkceCodeChallenge, PkceCodeVerifier, RequestTokenError, Scope, StandardErrorResponse,
    TokenResponse as _, UserInfoError,
};
use tracing::{error, warn};

use super::discovery::{Client, Discovery, LINE, fetch};
use super::error::LoginError;
use super::person::{self, Person};

type CoreErrorResponse = StandardErrorResponse<CoreErrorResponseType>;

/// The identity provider.
#[derive(Debug)]
pub(super) struct Provider {
    discovery: Discovery,
    scopes: Vec<String>,
    ui_locales: Option<String>,
    /// Fixed parameters of every authorization request.
    parameters: Vec<(&'static str, String)>,
    clock: SharedClock,
}

/// Wishes about one authorization request.
#[derive(Clone, Copy, Debug)]
pub(super) struct SignInHints<'a> {
    /// Language of the person, as a BCP 47 tag.
    pub(super) language: &'a str,
    /// True if LINE must not sign the person in by itself: that failed just now.
    pub(super) by_hand: bool,
}

/// Authorization request: the address for the browser, and the state to store until the callback.
pub(super) struct AuthorizationRequest {
    pub(super) url: String,
    pub(super) nonce: Nonce,
    pub(super) verifier: PkceCodeVerifier,
}

impl Provider {
    /// Creates the configured provider; `None` when there is none.
    ///
    /// # Errors
    /// Returns an error if the callback address is invalid or TLS cannot be set up.
    pub(super) fn new(
        config: &LoginConfig,
        secret: Option<SharedSecret>,
        callback: &str,
        clock: SharedClock,
    ) -> anyhow::Result<Option<Self>> {
        let discovery = Discovery::new(config, secret, callback, Arc::clone(&clock))?;
        let (scopes, ui_locales) = (config.scopes.clone(), config.ui_locales.clone());
        let prompts = [("prompt", &config.prompt), ("bot_prompt", &config.bot_prompt)];
        let given = prompts.into_iter().filter_map(|(name, value)| Some((name, value.clone()?)));
        let parameters: Vec<_> = given.collect();
        Ok(discovery.map(|discovery| Self { discovery, scopes, ui_locales, parameters, clock }))
    }

    /// Starts a login whose callback will carry `state`.
    pub(super) async fn begin(
        &self,
        state: &str,
        hints: SignInHints<'_>,
    ) -> Result<AuthorizationRequest, LoginError> {
        let (client, _) = self.discovery.client(None).await?;
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let state = state.to_owned();
        let ui_locales = self.ui_locales.as_deref().unwrap_or(hints.language);
        let mut request = client
            .authorize_url(
                CoreAuthenticationFlow::AuthorizationCode,
                move || CsrfToken::new(state),
                Nonce::new_random,
            )
            .add_scopes(self.scopes.iter().filter(|s| *s != "openid").cloned().map(Scope::new))
            .set_pkce_challenge(challenge)
            .add_extra_param("ui_locales", ui_locales);
        for (name, value) in &self.parameters {
            request = request.add_extra_param(*name, value.clone());
        }
        if hints.by_hand {
            request = request.add_extra_param("disable_auto_login", "true");
        }
        let (url, _, nonce) = request.url();
        Ok(AuthorizationRequest { url: url.into(), nonce, verifier })
    }

    /// Returns true if the provider is LINE.
    pub(super) fn is_line(&self) -> bool {
        self.discovery.issuer == LINE
    }

    /// Returns true if `issuer`, as the callback may declare it (RFC 9207), is this provider.
    pub(super) fn is(&self, issuer: &str) -> bool {
        issuer.trim_end_matches('/') == self.discovery.issuer
    }

    /// Returns the person of an authorization code.
    pub(super) async fn person(
        &self,
        code: String,
        verifier: String,
        nonce: String,
    ) -> Result<Person, LoginError> {
        let (client, since) = self.discovery.client(None).await?;
        let tokens = self.redeem(&client, code, verifier).await?;
        let nonce = Nonce::new(nonce);
        let claims = match self.claims(&client, &tokens, &nonce) {
            // Its keys may have changed since the last discovery.
            Err(ClaimsVerificationError::SignatureVerification(_)) => {
                let (client, _) = self.discovery.client(Some(since)).await?;
                self.claims(&client, &tokens, &nonce)
            }
            checked => checked,
        };
        let claims = claims.map_err(|cause| {
            let cause: &dyn std::error::Error = &cause;
            warn!(error = cause, "the identity provider's token is invalid");
            LoginError::Unconfirmed
        })?;
        let person = Person::from_token(&claims).ok_or(LoginError::Unconfirmed)?;
        if person.name.is_some() {
            return Ok(person);
        }
        Ok(self.describe(&client, &tokens, &claims, person).await)
    }

    /// Exchanges a code for tokens.
    async fn redeem(
        &self,
        client: &Client,
        code: String,
        verifier: String,
    ) -> Result<CoreTokenResponse, LoginError> {
        let http = |request| fetch(self.discovery.http.clone(), request);
        let request = client.exchange_code(AuthorizationCode::new(code)).map_err(|_| {
            error!("the identity provider has no token endpoint");
            LoginError::Unavailable
        })?;
        let verifier = PkceCodeVerifier::new(verifier);
        let answer = request.set_pkce_verifier(verifier).request_async(&http).await;
        match &answer {
            Err(RequestTokenError::Request(cause)) => self.is_away(cause),
            _ => self.discovery.available.works(Work::Reading),
        }
        answer.map_err(refused)
    }

    fn is_away(&self, cause: &reqwest::Error) {
        self.discovery.available.fails(Work::Reading, &with_causes(cause));
    }

    fn claims(
        &self,
        client: &Client,
        tokens: &CoreTokenResponse,
        nonce: &Nonce,
    ) -> Result<CoreIdTokenClaims, ClaimsVerificationError> {
        let token = tokens.id_token().ok_or_else(|| {
            ClaimsVerificationError::Other("the response has no ID token".to_owned())
        })?;
        let now = || instant(self.clock.now());
        token.claims(&client.id_token_verifier().set_time_fn(now), nonce).cloned()
    }

    /// Requests the claims from the user info endpoint that the ID token lacks. A failure is no
    /// reason to refuse anybody.
    async fn describe(
        &self,
        client: &Client,
        tokens: &CoreTokenResponse,
        claims: &CoreIdTokenClaims,
        person: Person,
    ) -> Person {
        let token = tokens.access_token().clone();
        let Ok(request) = client.user_info(token, Some(claims.subject().clone())) else {
            return person;
        };
        let http = |request| fetch(self.discovery.http.clone(), request);
        match request.request_async(&http).await {
            Ok(info) => Person { sub: person.sub, ..person::described(&info) },
            Err(UserInfoError::Request(cause)) => {
                self.is_away(&cause);
                person
            }
            Err(cause) => {
                let cause: &dyn std::error::Error = &cause;
                warn!(error = cause, "cannot read user info of the identity provider");
                person
            }
        }
    }
}

/// Returns the reason for refused tokens. Only the provider's error code is logged: the rest may be
/// secret.
fn refused(error: RequestTokenError<reqwest::Error, CoreErrorResponse>) -> LoginError {
    match error {
        RequestTokenError::ServerResponse(answer) => match answer.error() {
            CoreErrorResponseType::InvalidClient | CoreErrorResponseType::UnauthorizedClient => {
                error!("the identity provider rejects login.client_id or login.client_secret");
                LoginError::Unavailable
            }
            code @ CoreErrorResponseType::InvalidGrant => {
                warn!(?code, "the identity provider rejects an authorization code");
                LoginError::Unconfirmed
            }
            code => {
                error!(?code, "the identity provider gives no token");
                LoginError::Unavailable
            }
        },
        // The outage is logged.
        RequestTokenError::Request(_) => LoginError::Unavailable,
        RequestTokenError::Parse(..) | RequestTokenError::Other(_) => {
            warn!("cannot parse the response of the identity provider");
            LoginError::Unavailable
        }
    }
}

fn instant(at: Timestamp) -> DateTime<Utc> {
    DateTime::from_timestamp_millis(at.millis()).unwrap_or(DateTime::<Utc>::MAX_UTC)
}

#[cfg(test)]
#[path = "provider_tests.rs"]
mod tests;
