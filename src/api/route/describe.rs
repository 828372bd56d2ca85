//! What a handler's signature says about its route: who may call it, what it takes, what it
//! answers. Documentation, limits and tests read this, so that they cannot drift from the code.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;

use axum::Json;
use axum::extract::State;
use axum::handler::Handler;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;
use chatkeep_core::role::{Role, Scope};
use utoipa::ToSchema;
use utoipa::openapi::path::Parameter;
use utoipa::openapi::{Ref, RefOr, Schema};

use crate::api::Api;
use crate::api::error::ApiError;

/// What a caller needs for a route.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Need {
    /// Nothing.
    #[default]
    Nothing,
    /// Any valid key, or a session.
    Key,
    /// A key with this scope.
    Scope(Scope),
    /// A key with this scope, whose owner has at least this role in the channel of the path.
    Channel { role: Role, scope: Scope },
}

/// What is known of a route's requests and answers.
#[derive(Default)]
pub(in crate::api) struct Describe {
    pub(in crate::api) need: Need,
    pub(in crate::api) parameters: Vec<Parameter>,
    /// Whether a query is read.
    pub(in crate::api) query: bool,
    pub(in crate::api) body: Option<RefOr<Schema>>,
    pub(in crate::api) answers: Vec<Answer>,
    pub(in crate::api) errors: BTreeSet<u16>,
    pub(in crate::api) schemas: BTreeMap<String, RefOr<Schema>>,
}

/// A successful answer.
pub(in crate::api) struct Answer {
    pub(in crate::api) status: StatusCode,
    pub(in crate::api) description: &'static str,
    /// Media type and form; none for an empty body.
    pub(in crate::api) content: Vec<(&'static str, Option<RefOr<Schema>>)>,
    /// Headers that only this answer may have.
    pub(in crate::api) headers: Vec<&'static str>,
    /// Operations that go on from it: name, parameter, where in the body its value stands.
    pub(in crate::api) links: Vec<(&'static str, &'static str, &'static str)>,
}

/// Something that a handler takes from the request.
pub(in crate::api) trait Input {
    /// Adds what it means for the route.
    fn describe(_route: &mut Describe) {}

    /// Refuses a caller who may not call the route, for inputs that decide that.
    fn admit(_parts: &mut Parts, _api: &Api) -> impl Future<Output = Result<(), ApiError>> + Send {
        std::future::ready(Ok(()))
    }
}

/// What a handler answers when all went well.
pub(in crate::api) trait Output: IntoResponse {
    /// Adds what it means for the route.
    fn describe(route: &mut Describe);
}

/// A handler whose signature describes its route.
pub(in crate::api) trait Endpoint<T>: Handler<T, Api> {
    /// Adds everything that the signature says.
    fn describe(route: &mut Describe);

    /// Refuses a caller who may not call the route.
    fn admit(parts: &mut Parts, api: &Api) -> impl Future<Output = Result<(), ApiError>> + Send;
}

macro_rules! endpoints {
    ($($input:ident),*) => {
        impl<F, Fut, Out, Kind, $($input,)*> Endpoint<(Kind, $($input,)*)> for F
        where
            F: Fn($($input,)*) -> Fut + Handler<(Kind, $($input,)*), Api>,
            Fut: Future<Output = Result<Out, ApiError>>,
            Out: Output,
            $($input: Input,)*
        {
            fn describe(route: &mut Describe) {
                $($input::describe(route);)*
                Out::describe(route);
            }

            async fn admit(parts: &mut Parts, api: &Api) -> Result<(), ApiError> {
                $(<$input as Input>::admit(parts, api).await?;)*
                Ok(())
            }
        }
    };
}

endpoints!(A);
endpoints!(A, B);
endpoints!(A, B, C);
endpoints!(A, B, C, D);
endpoints!(A, B, C, D, E);

impl Describe {
    /// A reference to the form `T`, which becomes part of the document.
    pub(in crate::api) fn schema<T: ToSchema>(&mut self) -> RefOr<Schema> {
        let mut schemas = vec![(T::name().into_owned(), T::schema())];
        T::schemas(&mut schemas);
        self.schemas.extend(schemas);
        Ref::from_schema_name(T::name()).into()
    }

    /// Adds statuses with which the route may refuse.
    pub(in crate::api) fn refuses(&mut self, statuses: &[StatusCode]) {
        self.errors.extend(statuses.iter().map(StatusCode::as_u16));
    }

    /// Adds a JSON answer of the form `T`.
    pub(in crate::api) fn answers<T: ToSchema>(
        &mut self,
        status: StatusCode,
        description: &'static str,
    ) {
        let schema = self.schema::<T>();
        let content = vec![("application/json", Some(schema))];
        let (headers, links) = (Vec::new(), Vec::new());
        self.answers.push(Answer { status, description, content, headers, links });
    }

    /// Adds a header to the answers so far.
    pub(in crate::api) fn carries(&mut self, header: &'static str) {
        for answer in &mut self.answers {
            answer.headers.push(header);
        }
    }
}

impl<S> Input for State<S> {}

/// Headers that a handler reads by itself; it says in its text which.
impl Input for HeaderMap {}

impl<T: ToSchema + serde::Serialize> Output for Json<T> {
    fn describe(route: &mut Describe) {
        route.answers::<T>(StatusCode::OK, "Done");
    }
}
