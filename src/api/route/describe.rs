//! Description of a route, derived from its handler's signature: permissions, input, responses.
//! Documentation, limits and tests use it, so that they cannot drift from the code.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;

use axum::Json;
use axum::extract::State;
use axum::handler::Handler;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;
use chatkeep_core::role::{Role, Scope};
use chatkeep_http::HttpError;
use utoipa::ToSchema;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{Ref, RefOr, Required, Schema};

use crate::Api;

/// Permission that a caller needs for a route.
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
    Channel {
        /// Least role.
        role: Role,
        /// Scope of the key.
        scope: Scope,
    },
    /// A key with one of these scopes: which one, and for whom, depends on the job of the path.
    Job {
        /// Scope for deletions.
        removals: Scope,
        /// Scope for exports.
        exports: Scope,
    },
}

/// Description of a route's requests and responses.
#[derive(Default)]
pub(crate) struct Describe {
    pub(crate) need: Need,
    pub(crate) parameters: Vec<Parameter>,
    /// True when the route has a query.
    pub(crate) query: bool,
    pub(crate) body: Option<RefOr<Schema>>,
    /// True when the body may be left out.
    pub(crate) optional_body: bool,
    pub(crate) answers: Vec<Answer>,
    pub(crate) errors: BTreeSet<u16>,
    /// True when the response is written while it is sent, so that nobody knows its `ETag` before.
    pub(crate) is_streamed: bool,
    pub(crate) schemas: BTreeMap<String, RefOr<Schema>>,
}

/// Successful response.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) description: &'static str,
    /// Media type and schema; empty without a body.
    pub(crate) content: Vec<(&'static str, Option<RefOr<Schema>>)>,
    /// Headers of this response only.
    pub(crate) headers: Vec<&'static str>,
    /// Links to further operations: operation ID, parameter, and the location of its value in the
    /// body.
    pub(crate) links: Vec<(&'static str, &'static str, &'static str)>,
}

/// Input that a handler extracts from the request.
pub(crate) trait Input {
    /// Adds what it means for the route.
    fn describe(_route: &mut Describe) {}

    /// Rejects a caller without permission, for inputs that check it.
    fn admit(_parts: &mut Parts, _api: &Api) -> impl Future<Output = Result<(), HttpError>> + Send {
        std::future::ready(Ok(()))
    }
}

/// Successful output of a handler.
pub(crate) trait Output: IntoResponse {
    /// Adds what it means for the route.
    fn describe(route: &mut Describe);
}

/// A handler whose signature describes its route.
pub(crate) trait Endpoint<T>: Handler<T, Api> {
    /// Adds everything that the signature says.
    fn describe(route: &mut Describe);

    /// Rejects a caller without permission for the route.
    fn admit(parts: &mut Parts, api: &Api) -> impl Future<Output = Result<(), HttpError>> + Send;
}

macro_rules! endpoints {
    ($($input:ident),*) => {
        impl<F, Fut, Out, Kind, $($input,)*> Endpoint<(Kind, $($input,)*)> for F
        where
            F: Fn($($input,)*) -> Fut + Handler<(Kind, $($input,)*), Api>,
            Fut: Future<Output = Result<Out, HttpError>>,
            Out: Output,
            $($input: Input,)*
        {
            fn describe(route: &mut Describe) {
                $($input::describe(route);)*
                Out::describe(route);
            }

            async fn admit(parts: &mut Parts, api: &Api) -> Result<(), HttpError> {
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
    /// Returns a reference to the schema of `T` and adds it to the document.
    pub(crate) fn schema<T: ToSchema>(&mut self) -> RefOr<Schema> {
        let mut schemas = vec![(T::name().into_owned(), T::schema())];
        T::schemas(&mut schemas);
        self.schemas.extend(schemas);
        Ref::from_schema_name(T::name()).into()
    }

    /// Adds error statuses of the route.
    pub(crate) fn refuses(&mut self, statuses: &[StatusCode]) {
        self.errors.extend(statuses.iter().map(StatusCode::as_u16));
    }

    /// Adds a JSON response with the schema of `T`.
    pub(crate) fn answers<T: ToSchema>(&mut self, status: StatusCode, description: &'static str) {
        let schema = self.schema::<T>();
        let content = vec![("application/json", Some(schema))];
        let (headers, links) = (Vec::new(), Vec::new());
        self.answers.push(Answer { status, description, content, headers, links });
    }

    /// Adds the response to a request that began a job, with the schema of `T` and the job's address.
    pub(crate) fn accepts<T: ToSchema>(&mut self, description: &'static str) {
        let content = vec![("application/json", Some(self.schema::<T>()))];
        let (headers, links) = (vec!["Location"], Vec::new());
        let status = StatusCode::ACCEPTED;
        self.answers.push(Answer { status, description, content, headers, links });
    }

    /// Adds an optional header of the request, a text of that form.
    pub(crate) fn takes_header(
        &mut self,
        name: &'static str,
        description: &'static str,
        form: ObjectBuilder,
    ) {
        let parameter = ParameterBuilder::new()
            .name(name)
            .parameter_in(ParameterIn::Header)
            .required(Required::False)
            .description(Some(description))
            .schema(Some(form.schema_type(Type::String)));
        self.parameters.push(parameter.build());
    }

    /// Adds the headers with which a part of a file is requested.
    pub(crate) fn takes_range(&mut self) {
        let range = ObjectBuilder::new().examples(["bytes=0-1023"]);
        self.takes_header("Range", "Bytes of the file to send; one range.", range);
        self.takes_header(
            "If-Range",
            "`ETag` of the version that the range refers to; if the file has another, it is sent whole.",
            ObjectBuilder::new(),
        );
    }

    /// Adds a header to the responses so far.
    pub(crate) fn carries(&mut self, header: &'static str) {
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
