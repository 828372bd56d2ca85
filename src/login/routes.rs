//! Routes of login for browsers: redirect to the provider, callback, session, logout.

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use axum::middleware::map_response;
use axum::response::{AppendHeaders, IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use chatkeep_core::id::UserId;
use chatkeep_core::random;
use chatkeep_core::time::Timestamp;
use chatkeep_http::{HttpError, Query as Strict, is_local, takes_pages, weighted};
use chatkeep_i18n::Language;
use chatkeep_store::{NewLogin, PendingLogin, SignedIn};
use serde::{Deserialize, Serialize};
use tracing::info;
use url::form_urlencoded;

use super::error::LoginError;
use super::provider::{Provider, SignInHints};
use super::{CALLBACK, Inner, Login};

/// Length of a secret in characters.
const SECRET: usize = 40;
/// Start of a login that follows a failed one. A login that this browser did not start is what
/// comes of LINE's signing people in by itself and ending in another browser: LINE asks to try it
/// once more without.
const ONCE_MORE: &str = "/auth/login?disableAutoLogin=true";
/// Beginning of the state of a login that follows a failed one.
const RETRY_PREFIX: &str = "again-";

/// Returns the routes, under `/auth`.
pub(crate) fn router(login: Login) -> Router {
    Router::new()
        .route("/auth/login", get(start))
        .route(CALLBACK, get(finish))
        .route("/auth/session", get(show))
        .route("/auth/logout", post(leave))
        .layer(map_response(uncached))
        .with_state(login)
}

/// Disables caching and referrers: every response is for one browser and one moment.
async fn uncached(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct StartQuery {
    return_to: Option<String>,
    /// Language of the page from which the person comes, as a BCP 47 tag.
    lang: Option<String>,
    /// True after LINE failed to sign the person in by itself.
    #[serde(default)]
    disable_auto_login: bool,
}

/// Query of the callback; further parameters are ignored.
#[derive(Deserialize)]
struct CallbackQuery {
    state: String,
    code: Option<String>,
    error: Option<String>,
    iss: Option<String>,
}

/// `GET /auth/session`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SessionView {
    user_id: UserId,
    display_name: Option<String>,
    picture_url: Option<String>,
    csrf_token: String,
    expires_at: Timestamp,
}

async fn start(
    State(login): State<Login>,
    headers: HeaderMap,
    query: Result<Strict<StartQuery>, HttpError>,
) -> Result<Response, HttpError> {
    let login = &*login.0;
    let provider = login.provider()?;
    let Strict(query) = query?;
    let return_to = query.return_to.unwrap_or_else(|| "/".to_owned());
    if !is_local(&return_to) {
        return Err(LoginError::BadReturn.into());
    }
    // Pending logins in other tabs of the same browser stay valid.
    let cookies = login.sessions.cookies();
    let known = cookies.login(&headers).filter(|known| known.len() == SECRET);
    let browser = known.map_or_else(secret, str::to_owned);
    let by_hand = query.disable_auto_login;
    let state = if by_hand { format!("{RETRY_PREFIX}{}", secret()) } else { secret() };
    let chosen = query.lang.as_deref().and_then(Language::from_tag);
    let language = chosen.unwrap_or_else(|| preferred(&headers)).ui_locales();
    let set_out = provider.begin(&state, SignInHints { language, by_hand }).await?;
    let pending = NewLogin {
        state: &bound(&state, &browser),
        nonce: set_out.nonce.secret(),
        verifier: set_out.verifier.secret(),
        return_to: &return_to,
    };
    login.sessions.service().add_login(&pending).await?;
    let cookie = [set_cookie(cookies.set_login(&browser))];
    Ok((AppendHeaders(cookie), Redirect::to(&set_out.url)).into_response())
}

/// Returns the language that a browser prefers.
fn preferred(headers: &HeaderMap) -> Language {
    Language::preferred(weighted(headers, header::ACCEPT_LANGUAGE))
}

async fn finish(
    login: State<Login>,
    headers: HeaderMap,
    query: Result<Query<CallbackQuery>, QueryRejection>,
) -> Result<Response, HttpError> {
    let cookies = login.0.0.sessions.cookies();
    // Without cookies the state tells it; a state that is not ours at all, the cookie.
    let noted = cookies.again(&headers);
    let again = noted || query.as_ref().is_ok_and(|query| query.state.starts_with(RETRY_PREFIX));
    let note = match completed(login, &headers, query).await {
        Ok(response) if noted => (response, Some(cookies.clear_again())),
        Ok(response) => (response, None),
        Err(FailedLogin { error: LoginError::NotPending, .. })
            if takes_pages(&headers) && !again =>
        {
            (Redirect::to(ONCE_MORE).into_response(), Some(cookies.set_again()))
        }
        Err(failed) => match failed.page().filter(|_| takes_pages(&headers)) {
            Some(page) => (Redirect::to(&page).into_response(), None),
            None => return Err(failed.error.into()),
        },
    };
    let (response, cookie) = note;
    Ok((AppendHeaders(cookie.map(set_cookie)), response).into_response())
}

/// Login that failed, with the path to return to where that is known.
struct FailedLogin {
    error: LoginError,
    return_to: Option<String>,
}

impl<E: Into<LoginError>> From<E> for FailedLogin {
    fn from(error: E) -> Self {
        Self { error: error.into(), return_to: None }
    }
}

impl FailedLogin {
    /// Returns the page that helps the person, from which they come back to where they wanted to
    /// go; `None` for errors of the service.
    fn page(&self) -> Option<String> {
        let problem = match self.error {
            LoginError::NotPending => "other_browser",
            LoginError::Denied => "denied",
            LoginError::Unconfirmed | LoginError::Malformed => "unconfirmed",
            LoginError::Unavailable => "unavailable",
            _ => return None,
        };
        let next = self.return_to.as_deref().map(|path| ("next", path));
        let pairs = [("problem", problem)].into_iter().chain(next);
        let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
        Some(format!("/console/sign-in?{query}"))
    }
}

async fn completed(
    State(login): State<Login>,
    headers: &HeaderMap,
    query: Result<Query<CallbackQuery>, QueryRejection>,
) -> Result<Response, FailedLogin> {
    let login = &*login.0;
    login.provider()?;
    let Query(query) = query.map_err(|_| LoginError::Malformed)?;
    let previous = login.sessions.of_request(headers).await?;
    let (user, cookie, return_to) = login.finish(headers, query).await?;
    if let Some(previous) = previous {
        login.sessions.service().end(&previous).await?;
    }
    info!(%user, "user signed in");
    let cookie = [set_cookie(cookie)];
    Ok((AppendHeaders(cookie), Redirect::to(&return_to)).into_response())
}

async fn show(
    State(login): State<Login>,
    headers: HeaderMap,
) -> Result<Json<SessionView>, HttpError> {
    let login = &*login.0;
    login.provider()?;
    let session = login.sessions.of_request(&headers).await?.ok_or(LoginError::SignedOut)?;
    let sessions = login.sessions.service();
    let user = sessions.user(&session).await?.ok_or(LoginError::SignedOut)?;
    let expires_at = sessions.expires_at(&session);
    Ok(Json(SessionView {
        user_id: user.id,
        display_name: user.display_name,
        picture_url: user.picture_url,
        csrf_token: session.csrf,
        expires_at,
    }))
}

async fn leave(
    State(login): State<Login>,
    method: Method,
    headers: HeaderMap,
) -> Result<Response, HttpError> {
    let login = &*login.0;
    login.provider()?;
    let sessions = &login.sessions;
    let session = sessions.of_request(&headers).await?.ok_or(LoginError::SignedOut)?;
    if !sessions.allows(&method, &headers, &session) {
        return Err(LoginError::Forged.into());
    }
    let cookie = [set_cookie(sessions.end(&session).await?)];
    Ok((AppendHeaders(cookie), Json(serde_json::json!({"success": true}))).into_response())
}

impl Inner {
    fn provider(&self) -> Result<&Provider, LoginError> {
        self.provider.as_ref().ok_or(LoginError::NotConfigured)
    }

    /// Completes a callback with a session: returns its user, the value of the `Set-Cookie` header,
    /// and the path to return to.
    async fn finish(
        &self,
        headers: &HeaderMap,
        query: CallbackQuery,
    ) -> Result<(UserId, String, String), FailedLogin> {
        let mut pending = self.pending(headers, &query.state).await?;
        let return_to = std::mem::take(&mut pending.return_to);
        match self.begin(pending, query).await {
            Ok((user, cookie)) => Ok((user, cookie, return_to)),
            Err(error) => Err(FailedLogin { error, return_to: Some(return_to) }),
        }
    }

    /// Begins the session of the person whom the provider sends back.
    async fn begin(
        &self,
        pending: PendingLogin,
        query: CallbackQuery,
    ) -> Result<(UserId, String), LoginError> {
        let provider = self.provider()?;
        if query.iss.is_some_and(|issuer| !provider.is(&issuer)) {
            return Err(LoginError::Malformed);
        }
        if let Some(error) = query.error {
            return Err(provider_error(&error));
        }
        let code = query.code.ok_or(LoginError::Malformed)?;
        let person = provider.person(code, pending.verifier, pending.nonce).await?;
        let user = UserId::new(format!("{}{}", self.user_prefix, person.sub));
        let person = SignedIn {
            user: &user,
            display_name: person.name.as_deref(),
            picture_url: person.picture.as_deref(),
        };
        let cookie = self.sessions.begin(&person).await?;
        Ok((user, cookie))
    }

    /// Returns the pending login that this browser started with that state.
    async fn pending(&self, headers: &HeaderMap, state: &str) -> Result<PendingLogin, LoginError> {
        let browser = self.sessions.cookies().login(headers).ok_or(LoginError::NotPending)?;
        let state = bound(state, browser);
        let pending = self.sessions.service().take_login(&state).await?;
        pending.ok_or(LoginError::NotPending)
    }
}

/// Returns the state bound to the browser that may complete it.
fn bound(state: &str, browser: &str) -> String {
    format!("{state}.{browser}")
}

/// Maps the provider's error in the callback.
fn provider_error(error: &str) -> LoginError {
    match error {
        "server_error" | "temporarily_unavailable" => LoginError::Unavailable,
        _ => LoginError::Denied,
    }
}

fn secret() -> String {
    random::text(SECRET)
}

fn set_cookie(cookie: String) -> (HeaderName, String) {
    (header::SET_COOKIE, cookie)
}
