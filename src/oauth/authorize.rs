//! Authorization endpoint: validates a client's request, asks the person, and redirects back with
//! the code.

use axum::body::Bytes;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Redirect, Response};
use chatkeep_core::id::ChannelId;
use chatkeep_core::role::Scope;
use chatkeep_store::{NewGrant, OAuthClient, Session};
use serde::{Deserialize, Serialize};
use tracing::info;
use url::form_urlencoded;

use super::error::OAuthError;
use super::reach::ChannelGrant;
use super::{CODE_TIME, Inner, OAuth, SCOPES, consent, redirect, secret};
use crate::api::ApiError;
use crate::login::form_allows;
use crate::random;

/// Maximum length of a client's state in bytes.
const MAX_STATE: usize = 1000;
/// Length of a consent's public id in characters.
const ID: usize = 16;

/// Authorization request; further parameters are ignored.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct AuthorizeRequest {
    client_id: String,
    redirect_uri: String,
    response_type: Option<String>,
    code_challenge: Option<String>,
    code_challenge_method: Option<String>,
    state: Option<String>,
    scope: Option<String>,
    resource: Option<String>,
}

/// The person's decision.
#[derive(Deserialize)]
pub(super) struct Decision {
    #[serde(flatten)]
    asked: AuthorizeRequest,
    csrf: String,
    #[serde(rename = "decision")]
    said: String,
}

/// Valid authorization request.
pub(super) struct ConsentQuestion {
    pub(super) client: OAuthClient,
    pub(super) redirect_uri: String,
    pub(super) scopes: Vec<Scope>,
    challenge: String,
    state: Option<String>,
}

/// Reason for refusing an authorization request.
enum Refusal {
    /// The client or its redirect is not known: shown on a page, without a redirect.
    Page(OAuthError),
    /// Reported to the client by redirect.
    Program { to: String, state: Option<String>, error: OAuthError },
}

/// `GET /oauth/authorize`: asks the person for consent, after signing in if need be.
pub(super) async fn ask(
    State(OAuth(oauth)): State<OAuth>,
    uri: Uri,
    headers: HeaderMap,
    query: Result<Query<AuthorizeRequest>, QueryRejection>,
) -> Result<Response, ApiError> {
    let asked = query.map_err(|_| malformed())?.0;
    let question = match oauth.question(&asked).await {
        Ok(question) => question,
        Err(refusal) => return Ok(oauth.refuse(refusal)),
    };
    let Some(session) = oauth.login.session(&headers).await? else {
        return Ok(sign_in(&uri));
    };
    oauth.page(&question, &asked, &session, None).await
}

/// `POST /oauth/authorize`: handles the person's decision.
pub(super) async fn decide(
    State(OAuth(oauth)): State<OAuth>,
    headers: HeaderMap,
    form: Bytes,
) -> Result<Response, ApiError> {
    let decision = serde_urlencoded::from_bytes(&form);
    let Decision { asked, csrf, said } = decision.map_err(|_| malformed())?;
    let session = oauth.session_of_form(&headers, &csrf).await?;
    let question = match oauth.question(&asked).await {
        Ok(question) => question,
        Err(refusal) => return Ok(oauth.refuse(refusal)),
    };
    if said != "allow" {
        let error = OAuthError::new("access_denied", "The user denied access");
        let (to, state) = (question.redirect_uri, question.state);
        return Ok(oauth.refuse(Refusal::Program { to, state, error }));
    }
    let reach = ChannelGrant::of_form(&form).ok_or_else(malformed)?;
    let channels = oauth.reached(&session.user, reach).await?;
    if channels.as_ref().is_some_and(Vec::is_empty) {
        let hint = Some("Choose at least one channel, or all channels.");
        return oauth.page(&question, &asked, &session, hint).await;
    }
    let code = oauth.consent(&question, &session, channels.as_deref()).await?;
    let sent = [("code", code.as_str())];
    Ok(oauth.send(&question.redirect_uri, question.state.as_deref(), &sent))
}

/// Withdrawal of a consent.
#[derive(Deserialize)]
pub(super) struct Withdrawal {
    id: String,
    csrf: String,
}

/// `GET /oauth/consents`: lists the person's consents.
pub(super) async fn list(
    State(OAuth(oauth)): State<OAuth>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let Some(session) = oauth.login.session(&headers).await? else {
        return Ok(sign_in(&uri));
    };
    let consents = oauth.store.oauth().consents(&session.user).await?;
    Ok(consent::list(&consents, &session.csrf, &oauth.name(&session).await?))
}

/// `POST /oauth/consents`: withdraws one.
pub(super) async fn withdraw(
    State(OAuth(oauth)): State<OAuth>,
    headers: HeaderMap,
    form: Bytes,
) -> Result<Response, ApiError> {
    let form: Result<Withdrawal, _> = serde_urlencoded::from_bytes(&form);
    let form = form.map_err(|_| malformed())?;
    let session = oauth.session_of_form(&headers, &form.csrf).await?;
    if oauth.store.oauth().revoke_consent(&session.user, &form.id).await? {
        info!(user = %session.user, grant = form.id, "consent withdrawn");
    }
    Ok(Redirect::to("/oauth/consents").into_response())
}

/// Redirects to the login and back here.
fn sign_in(here: &Uri) -> Response {
    let here = here.path_and_query().map_or("/", |here| here.as_str());
    let here: String = form_urlencoded::byte_serialize(here.as_bytes()).collect();
    Redirect::to(&format!("/auth/login?returnTo={here}")).into_response()
}

const FORGED: ApiError = ApiError::Refused {
    status: StatusCode::FORBIDDEN,
    code: "forged",
    error: "This form does not belong to your session: go back and reload the page",
};

fn malformed() -> ApiError {
    let why = "client_id and redirect_uri, or the fields of the form, are required exactly once"
        .to_owned();
    ApiError::Invalid { field: None, why }
}

impl AuthorizeRequest {
    /// Returns the form's hidden fields, which repeat the request.
    fn fields(&self) -> Vec<(&'static str, &str)> {
        let optional = [
            ("response_type", &self.response_type),
            ("code_challenge", &self.code_challenge),
            ("code_challenge_method", &self.code_challenge_method),
            ("state", &self.state),
            ("scope", &self.scope),
            ("resource", &self.resource),
        ];
        let needed = [("client_id", &*self.client_id), ("redirect_uri", &*self.redirect_uri)];
        let given =
            optional.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?)));
        needed.into_iter().chain(given).collect()
    }

    /// Returns the requested scopes; unknown ones are left out, and requesting none means all.
    fn scopes(&self) -> Vec<Scope> {
        let words = self.scope.as_deref().unwrap_or_default().split_ascii_whitespace();
        let known: Vec<_> = words.filter_map(Scope::parse).collect();
        let wanted = |scope: &Scope| self.scope.is_none() || known.contains(scope);
        SCOPES.into_iter().filter(wanted).collect()
    }

    /// Returns the PKCE challenge.
    fn challenge(&self) -> Result<&str, OAuthError> {
        if self.response_type.as_deref() != Some("code") {
            let why = "response_type must be code";
            return Err(OAuthError::new("unsupported_response_type", why));
        }
        let challenge = self.code_challenge.as_deref().unwrap_or_default();
        let base64 = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let whole = challenge.len() == 43 && challenge.bytes().all(base64);
        if !whole || self.code_challenge_method.as_deref() != Some("S256") {
            return Err(OAuthError::request("code_challenge with the method S256 is required"));
        }
        Ok(challenge)
    }
}

impl Inner {
    /// Returns the session of a form that is ours.
    async fn session_of_form(&self, headers: &HeaderMap, csrf: &str) -> Result<Session, ApiError> {
        let session = self.login.session(headers).await?;
        let own = session.filter(|one| form_allows(headers, one, csrf, self.login.origin()));
        own.ok_or(FORGED)
    }

    /// Returns the consent page.
    async fn page(
        &self,
        question: &ConsentQuestion,
        asked: &AuthorizeRequest,
        session: &Session,
        hint: Option<&str>,
    ) -> Result<Response, ApiError> {
        let page = consent::ConsentPage {
            question,
            fields: &asked.fields(),
            csrf: &session.csrf,
            person: &self.name(session).await?,
            channels: &self.offered(&session.user).await?,
            hint,
        };
        Ok(page.response())
    }

    /// Returns the person's name.
    async fn name(&self, session: &Session) -> Result<String, ApiError> {
        let user = self.store.accounts().user(&session.user).await?;
        let name = user.and_then(|user| user.display_name);
        Ok(name.unwrap_or_else(|| session.user.to_string()))
    }

    /// Validates a request, first the client and its redirect, then the rest.
    async fn question(&self, asked: &AuthorizeRequest) -> Result<ConsentQuestion, Refusal> {
        let client = self.client(&asked.client_id).await.map_err(Refusal::Page)?;
        if !redirect::is_named(&client.redirect_uris, &asked.redirect_uri) {
            let why = "The redirect_uri is not registered for this client";
            return Err(Refusal::Page(OAuthError::request(why)));
        }
        if asked.state.as_ref().is_some_and(|state| state.len() > MAX_STATE) {
            let why = "state is longer than 1000 bytes";
            return Err(Refusal::Page(OAuthError::request(why)));
        }
        let state = asked.state.clone();
        let refuse = |error| Refusal::Program {
            to: asked.redirect_uri.clone(),
            state: state.clone(),
            error,
        };
        let challenge = asked.challenge().map_err(refuse)?.to_owned();
        if asked.resource.as_ref().is_some_and(|resource| *resource != self.resource()) {
            let error = OAuthError::new(
                "invalid_target",
                "This service issues no tokens for that resource",
            );
            return Err(refuse(error));
        }
        let scopes = asked.scopes();
        if scopes.is_empty() {
            let why = "scope must be read:messages, read:members, or both";
            return Err(refuse(OAuthError::new("invalid_scope", why)));
        }
        let redirect_uri = asked.redirect_uri.clone();
        Ok(ConsentQuestion { client, redirect_uri, scopes, challenge, state })
    }

    /// Stores the consent and returns its code.
    async fn consent(
        &self,
        question: &ConsentQuestion,
        session: &Session,
        channels: Option<&[ChannelId]>,
    ) -> Result<String, ApiError> {
        let (id, code, now) = (random::text(ID), secret("ckc_"), self.clock.now());
        let grant = NewGrant {
            id: &id,
            user: &session.user,
            client_id: &question.client.id,
            client_name: &question.client.name,
            scopes: &question.scopes,
            channels,
            resource: &self.resource(),
            code: &code,
            code_until: now.plus(CODE_TIME),
            redirect_uri: &question.redirect_uri,
            challenge: &question.challenge,
        };
        self.store.oauth().add_grant(&grant, now).await?;
        info!(user = %session.user, grant = id, "consent granted");
        Ok(code)
    }

    fn refuse(&self, refusal: Refusal) -> Response {
        match refusal {
            Refusal::Page(error) => error.into_response(),
            Refusal::Program { to, state, error } => {
                let said = [("error", error.code), ("error_description", error.why)];
                self.send(&to, state.as_deref(), &said)
            }
        }
    }

    /// Redirects back to the client, with the issuer (RFC 9207).
    fn send(&self, to: &str, state: Option<&str>, said: &[(&str, &str)]) -> Response {
        let mut said = said.to_vec();
        said.push(("iss", self.login.base_url()));
        said.extend(state.map(|state| ("state", state)));
        match redirect::with(to, &said) {
            Some(to) => Redirect::to(&to).into_response(),
            None => OAuthError::request("redirect_uri is not a valid address").into_response(),
        }
    }
}
