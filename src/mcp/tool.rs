//! Tools: the definition of one, the entry that the server knows it by, and its result.

use std::future::Future;

use chatkeep_core::role::Scope;
use chatkeep_services::decode::arguments as read;
use chatkeep_services::{Caller, ServiceError, Services};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use rmcp::model::{ContentBlock, Tool, ToolAnnotations};
use rmcp::schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::error::{ToolError, ToolFailure, caught};
use super::schema;

/// Definition of a tool: one type, in a file of its own, with all that belongs to it.
pub(super) trait ToolDefinition {
    const NAME: &'static str;
    /// Title for people.
    const TITLE: &'static str;
    /// Description for models.
    const DESCRIPTION: &'static str;
    /// Required scope; `None` where any key will do.
    const SCOPE: Option<Scope>;
    type Arguments: DeserializeOwned + JsonSchema + Send;
    type Output: Serialize + JsonSchema;

    /// Calls the tool.
    fn call(
        services: &Services,
        caller: Caller,
        arguments: Self::Arguments,
    ) -> impl Future<Output = Result<ToolAnswer<Self::Output>, ToolError>> + Send;
}

/// Answer of a tool.
pub(super) struct ToolAnswer<T> {
    output: T,
    /// The same as text.
    text: String,
    /// Content beside the text.
    content: Vec<ContentBlock>,
}

impl<T> ToolAnswer<T> {
    /// Creates an answer of both forms.
    pub(super) const fn new(output: T, text: String) -> Self {
        Self { output, text, content: Vec::new() }
    }

    /// Adds content beside the text.
    pub(super) fn with_content(self, content: Vec<ContentBlock>) -> Self {
        Self { content, ..self }
    }
}

/// Entry of a tool in the table of all tools.
#[derive(Clone, Copy)]
pub(super) struct ToolEntry {
    pub(super) name: &'static str,
    scope: Option<Scope>,
    describe: fn() -> Tool,
    call: CallFn,
}

type CallFn = for<'a> fn(&'a Services, Caller, Value) -> BoxFuture<'a, CallResult>;
type CallResult = Result<ToolResult, ToolError>;

/// Result of a tool, in both forms.
#[derive(Debug)]
pub(super) struct ToolResult {
    pub(super) structured: Value,
    /// The same as text, and what else belongs to it.
    pub(super) content: Vec<ContentBlock>,
}

impl ToolEntry {
    pub(super) const fn of<T: ToolDefinition>() -> Self {
        Self { name: T::NAME, scope: T::SCOPE, describe: describe::<T>, call: call::<T> }
    }

    /// Returns the description of the tool as the protocol has it.
    pub(super) fn describe(&self) -> Tool {
        (self.describe)()
    }

    /// Calls the tool.
    pub(super) async fn call(
        &self,
        services: &Services,
        caller: Caller,
        arguments: Value,
    ) -> Result<ToolResult, ToolFailure> {
        let credential = caller.credential.clone();
        let result = caught((self.call)(services, caller, arguments)).await;
        result.map_err(|error| error.failure(self.scope, &credential))
    }
}

fn describe<T: ToolDefinition>() -> Tool {
    // A read-only tool needs no idempotency hint.
    let annotations = ToolAnnotations::new().read_only(true).destructive(false).open_world(false);
    Tool::new(T::NAME, T::DESCRIPTION, schema::of_arguments::<T::Arguments>())
        .with_title(T::TITLE)
        .with_raw_output_schema(schema::of_output::<T::Output>())
        .with_annotations(annotations)
}

fn call<T: ToolDefinition>(
    services: &Services,
    caller: Caller,
    arguments: Value,
) -> BoxFuture<'_, CallResult> {
    async move {
        let arguments = read(arguments)?;
        let ToolAnswer { output, text, content } = T::call(services, caller, arguments).await?;
        let structured = serde_json::to_value(output).map_err(|_| ServiceError::Internal)?;
        let content = std::iter::once(ContentBlock::text(text)).chain(content).collect();
        Ok(ToolResult { structured, content })
    }
    .boxed()
}
