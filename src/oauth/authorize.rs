//! Authorization endpoint: validates a client's request, asks the person, and redirects back with
//! the code.

use axum::body::Bytes;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Redirect, Response};
use chatkeep_console::{Dates, language_of};
use chatkeep_core::role::Scope;
use chatkeep_http::{ErrorCode, HttpError};
use chatkeep_i18n::Language;
use chatkeep_services::grants::{GRANTABLE_SCOPES, GrantRequest, READING_SCOPES};
use chatkeep_store::{OAuthClient, Session};
use chatkeep_view::sanitize::is_visible;
use serde::{Deserialize, Serialize};
use url::form_urlencoded;

use super::consent::AppRefusal;
use super::error::{OAuthError, OAuthErrorCode};
use super::reach::ChannelGrant;
use super::resource::is_this_resource;
use super::{Inner, OAuth, consent, given, redirect, secret};

/// Maximum length of a client's state in bytes.
const MAX_STATE: usize = 1000;

/// Authorization request; further parameters are ignored.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct AuthorizeRequest {
    client_id: String,
    redirect_uri: String,
    #[serde(default, deserialize_with = "given")]
    response_type: Option<String>,
    #[serde(default, deserialize_with = "given")]
    code_challenge: Option<String>,
    #[serde(default, deserialize_with = "given")]
    code_challenge_method: Option<String>,
    /// Also an empty one: it comes back as it was sent.
    state: Option<String>,
    #[serde(default, deserialize_with = "given")]
    scope: Option<String>,
    #[serde(default, deserialize_with = "given")]
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
    /// Shown on a page with a link by which the person reports it to the client. A redirect would
    /// make this service lead whoever follows a link to any address that somebody registered.
    Program(RefusedProgram),
}

/// Client whose request is refused.
struct RefusedProgram {
    name: String,
    redirect_uri: String,
    state: Option<String>,
    error: OAuthError,
}

/// Person who reads a page of consent.
#[derive(Clone, Copy)]
struct ConsentReader<'a> {
    session: &'a Session,
    language: Language,
}

/// `GET /oauth/authorize`: asks the person for consent, after signing in if need be.
pub(super) async fn ask(
    State(OAuth(oauth)): State<OAuth>,
    uri: Uri,
    headers: HeaderMap,
    query: Result<Query<AuthorizeRequest>, QueryRejection>,
) -> Result<Response, HttpError> {
    let asked = query.map_err(|_| malformed())?.0;
    // First of all: nobody has this service call a client's address, or lead to one, unknown.
    let Some(session) = oauth.sessions.of_request(&headers).await? else {
        return Ok(sign_in(&uri));
    };
    let reader = ConsentReader { session: &session, language: language_of(&headers) };
    let question = match oauth.question(&asked).await {
        Ok(question) => question,
        Err(refusal) => return Ok(oauth.refuse(refusal, reader.language)),
    };
    oauth.page(&question, &asked, reader, false).await
}

/// `POST /oauth/authorize`: handles the person's decision.
pub(super) async fn decide(
    State(OAuth(oauth)): State<OAuth>,
    headers: HeaderMap,
    form: Bytes,
) -> Result<Response, HttpError> {
    let decision = serde_urlencoded::from_bytes(&form);
    let Decision { asked, csrf, said } = decision.map_err(|_| malformed())?;
    let session = oauth.session_of_form(&headers, &csrf).await?;
    let reader = ConsentReader { session: &session, language: language_of(&headers) };
    let question = match oauth.question(&asked).await {
        Ok(question) => question,
        Err(refusal) => return Ok(oauth.refuse(refusal, reader.language)),
    };
    if said != "allow" {
        let error = OAuthError::new(OAuthErrorCode::AccessDenied, "The user denied access");
        return Ok(oauth.send(&question.redirect_uri, question.state.as_deref(), &error.pairs()));
    }
    let reach = ChannelGrant::of_form(&form).ok_or_else(malformed)?;
    let channels = oauth.services.grants.grantable(&session.user, reach.chosen()).await?;
    if channels.as_ref().is_some_and(Vec::is_empty) {
        return oauth.page(&question, &asked, reader, true).await;
    }
    let code = secret("ckc_");
    let grant = GrantRequest {
        client: &question.client,
        scopes: &question.scopes,
        channels: channels.as_deref(),
        resource: &oauth.resource,
        redirect_uri: &question.redirect_uri,
        challenge: &question.challenge,
    };
    oauth.services.grants.add(&session.user, &grant, &code).await?;
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
) -> Result<Response, HttpError> {
    let Some(session) = oauth.sessions.of_request(&headers).await? else {
        return Ok(sign_in(&uri));
    };
    let consents = oauth.services.grants.consents(&session.user).await?;
    let zone = oauth.services.messages.zone(None).await?;
    let dates = Dates { language: language_of(&headers), zone, now: oauth.clock.now() };
    Ok(consent::list(&consents, &session.csrf, &oauth.name(&session).await?, dates))
}

/// `POST /oauth/consents`: withdraws one.
pub(super) async fn withdraw(
    State(OAuth(oauth)): State<OAuth>,
    headers: HeaderMap,
    form: Bytes,
) -> Result<Response, HttpError> {
    let form: Result<Withdrawal, _> = serde_urlencoded::from_bytes(&form);
    let form = form.map_err(|_| malformed())?;
    let session = oauth.session_of_form(&headers, &form.csrf).await?;
    oauth.services.grants.withdraw(&session.user, &form.id).await?;
    Ok(Redirect::to("/oauth/consents").into_response())
}

/// Redirects to the login and back here.
fn sign_in(here: &Uri) -> Response {
    let here = here.path_and_query().map_or("/", |here| here.as_str());
    let here: String = form_urlencoded::byte_serialize(here.as_bytes()).collect();
    Redirect::to(&format!("/auth/login?returnTo={here}")).into_response()
}

const FORGED: HttpError = HttpError::Refused {
    status: StatusCode::FORBIDDEN,
    code: ErrorCode::Forged,
    error: "This form does not belong to your session: go back and reload the page",
};

/// Error of a request for scopes none of which can be granted; it names all that can be.
const NO_SCOPE: &str = "scope must be one or more of read:messages, read:members and read:media";

const NO_ADDRESS: OAuthError = OAuthError::request("redirect_uri is not a valid address");

fn malformed() -> HttpError {
    let why = "client_id and redirect_uri, or the fields of the form, are required exactly once"
        .to_owned();
    HttpError::Invalid { field: None, why }
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

    /// Returns the requested scopes; unknown ones are left out, and requesting none means those for
    /// reading texts.
    fn scopes(&self) -> Vec<Scope> {
        let Some(scope) = &self.scope else { return READING_SCOPES.to_vec() };
        let known: Vec<_> = scope.split_ascii_whitespace().filter_map(Scope::parse).collect();
        GRANTABLE_SCOPES.into_iter().filter(|scope| known.contains(scope)).collect()
    }

    /// Returns the PKCE challenge.
    fn challenge(&self) -> Result<&str, OAuthError> {
        match self.response_type.as_deref() {
            Some("code") => {}
            Some(_) => {
                let why = "response_type must be code";
                return Err(OAuthError::new(OAuthErrorCode::UnsupportedResponseType, why));
            }
            None => return Err(OAuthError::request("response_type is required: code")),
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
    async fn session_of_form(&self, headers: &HeaderMap, csrf: &str) -> Result<Session, HttpError> {
        let session = self.sessions.of_request(headers).await?;
        let own = session.filter(|one| self.sessions.allows_form(headers, one, csrf));
        own.ok_or(FORGED)
    }

    /// Returns the consent page; `chose_none`: it is shown again because of that.
    async fn page(
        &self,
        question: &ConsentQuestion,
        asked: &AuthorizeRequest,
        reader: ConsentReader<'_>,
        chose_none: bool,
    ) -> Result<Response, HttpError> {
        let session = reader.session;
        let form = consent::ConsentForm {
            language: reader.language,
            question,
            fields: &asked.fields(),
            csrf: &session.csrf,
            person: &self.name(session).await?,
            channels: &self.services.grants.offered(&session.user).await?,
            chose_none,
        };
        Ok(form.response())
    }

    /// Returns the person's name.
    async fn name(&self, session: &Session) -> Result<String, HttpError> {
        let user = self.sessions.service().user(session).await?;
        let name = user.and_then(|user| user.display_name).filter(|name| is_visible(name));
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
        let refuse = |error| {
            Refusal::Program(RefusedProgram {
                name: client.name.clone(),
                redirect_uri: asked.redirect_uri.clone(),
                state: state.clone(),
                error,
            })
        };
        let challenge = asked.challenge().map_err(refuse)?.to_owned();
        let is_other = |asked: &str| !is_this_resource(&self.resource, asked);
        if asked.resource.as_deref().is_some_and(is_other) {
            let error = OAuthError::new(
                OAuthErrorCode::InvalidTarget,
                "This service issues no tokens for that resource",
            );
            return Err(refuse(error));
        }
        let scopes = asked.scopes();
        if scopes.is_empty() {
            return Err(refuse(OAuthError::new(OAuthErrorCode::InvalidScope, NO_SCOPE)));
        }
        let redirect_uri = asked.redirect_uri.clone();
        Ok(ConsentQuestion { client, redirect_uri, scopes, challenge, state })
    }

    fn refuse(&self, refusal: Refusal, language: Language) -> Response {
        match refusal {
            Refusal::Page(error) => error.into_response(),
            Refusal::Program(RefusedProgram { name, redirect_uri, state, error }) => {
                let link = self.report(&redirect_uri, state.as_deref(), &error.pairs());
                let Some(link) = link else { return NO_ADDRESS.into_response() };
                let (redirect_uri, link) = (&*redirect_uri, &*link);
                let request = AppRefusal { name: &name, error: &error, redirect_uri, link };
                consent::refused(&request, language)
            }
        }
    }

    /// Redirects back to the client.
    fn send(&self, to: &str, state: Option<&str>, said: &[(&str, &str)]) -> Response {
        match self.report(to, state, said) {
            Some(to) => Redirect::to(&to).into_response(),
            None => NO_ADDRESS.into_response(),
        }
    }

    /// Returns the address that tells a client the result, with the issuer (RFC 9207).
    fn report(&self, to: &str, state: Option<&str>, said: &[(&str, &str)]) -> Option<String> {
        let mut said = said.to_vec();
        said.push(("iss", self.issuer()));
        said.extend(state.map(|state| ("state", state)));
        redirect::with(to, &said)
    }
}
