//! The choice of a person to look as, in place of a sign-in: everybody in the demo is made up.

use std::sync::Arc;

use axum::extract::{Query, State};
use axum::http::{HeaderMap, Uri, header};
use axum::response::{AppendHeaders, IntoResponse as _, Redirect, Response};
use axum::routing::get;
use axum::{Form, Router};
use chatkeep_console::{DemoPerson, DemoRole, demo_people};
use chatkeep_core::id::UserId;
use chatkeep_emulator::User;
use chatkeep_http::{BrowserSessions, HttpError, is_local};
use chatkeep_store::SignedIn;
use serde::Deserialize;

use super::people::People;
use super::sample::Sample;

/// Path of the choice.
pub(super) const PATH: &str = "/demo/look-as";

#[derive(Clone)]
struct LookAs {
    sample: Arc<Sample>,
    sessions: BrowserSessions,
}

#[derive(Default, Deserialize)]
struct Next {
    next: Option<String>,
}

#[derive(Deserialize)]
struct Choice {
    user: String,
    next: String,
}

pub(super) fn router(sample: Arc<Sample>, sessions: BrowserSessions) -> Router {
    Router::new().route(PATH, get(page).post(choose)).with_state(LookAs { sample, sessions })
}

async fn page(
    State(state): State<LookAs>,
    headers: HeaderMap,
    address: Uri,
    Query(query): Query<Next>,
) -> Response {
    demo_people(&headers, &address, state.people(), query.next.as_deref())
}

/// Begins a session of the chosen person. The guard of the demo lets only its own pages ask.
async fn choose(
    State(state): State<LookAs>,
    Form(choice): Form<Choice>,
) -> Result<Response, HttpError> {
    let people = state.people();
    let chosen = people.into_iter().find(|person| person.id == choice.user);
    let chosen = chosen.ok_or(HttpError::NotFound)?;
    let user = UserId::from(chosen.id.as_str());
    let person = SignedIn { user: &user, display_name: Some(&chosen.name), picture_url: None };
    let cookie = state.sessions.begin(&person).await?;
    let next = if is_local(&choice.next) { &*choice.next } else { "/console" };
    Ok((AppendHeaders([(header::SET_COOKIE, cookie)]), Redirect::to(next)).into_response())
}

impl LookAs {
    /// Returns everybody of the sample groups, owners first within each, and one who is in none.
    fn people(&self) -> Vec<DemoPerson> {
        let mut all: Vec<DemoPerson> = Vec::new();
        let mut add = |user: User, role| {
            if !all.iter().any(|known| known.id == user.user_id) {
                all.push(DemoPerson { id: user.user_id, name: user.display_name, role });
            }
        };
        let groups = self.sample.groups();
        let owns = |user: &User| groups.iter().any(|people| people.owner().user_id == user.user_id);
        for user in groups.iter().flat_map(People::members) {
            let role = if owns(&user) { DemoRole::Owner } else { DemoRole::Member };
            add(user, role);
        }
        let in_one = |user: &User| groups.iter().any(|people| people.members().contains(user));
        let outside = groups.iter().flat_map(People::outside).find(|user| !in_one(user));
        if let Some(user) = outside {
            add(user, DemoRole::Stranger);
        }
        all
    }
}
