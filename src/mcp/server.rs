//! Protocol side of tools and prompts: the service's self-description, and calls with their metrics.

use std::borrow::Cow;
use std::time::Instant;

use axum::http::request::Parts;
use chatkeep_core::role::Scope;
use chatkeep_core::{metric, panics};
use chatkeep_services::{Caller, Services};
use chatkeep_view::sanitize;
use futures_util::FutureExt as _;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams,
    CompleteResult, ContentBlock, DiscoverResult, GetPromptRequestParams, GetPromptResponse, Icon,
    Implementation, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, MetaObject, PaginatedRequestParams, ProtocolVersion,
    ReadResourceRequestParams, ReadResourceResponse, Reference, ServerCapabilities, ServerConfig,
    Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;

use super::Admitted;
use super::error::{PART, ToolError, caught};
use super::tool::ToolResult;
use super::tools::{self, DESCRIPTIONS, INSTRUCTIONS};
use super::{media, prompts, resources};

/// Supported protocol revisions.
pub(super) static VERSIONS: [ProtocolVersion; 3] =
    [ProtocolVersion::V_2025_06_18, ProtocolVersion::V_2025_11_25, ProtocolVersion::V_2026_07_28];

/// Time for which clients may cache the self-description, in milliseconds. It is the same for every
/// caller and changes with a new release only.
const KEEP: u64 = 10 * 60 * 1000;

/// Handler of one request.
#[derive(Clone, Debug)]
pub(super) struct McpServer {
    services: Services,
}

impl McpServer {
    pub(super) const fn new(services: Services) -> Self {
        Self { services }
    }
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_prompts()
            .enable_resources()
            .enable_completions();
        ServerConfig::new(capabilities.build())
            .with_server_info(chatkeep().with_icons(vec![icon()]))
            .with_instructions(INSTRUCTIONS)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(&VERSIONS)
    }

    async fn discover(&self, _: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let result = DiscoverResult::from_server_info(VERSIONS.to_vec(), self.get_info());
        Ok(result.with_ttl_ms(KEEP).with_cache_scope(CacheScope::Public))
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        check_first_page(request.as_ref())?;
        let mut result = ListToolsResult::with_all_items(DESCRIPTIONS.clone());
        if !self_contained(&context) {
            return Ok(result);
        }
        result.meta = signature(&context);
        Ok(result.with_ttl_ms(KEEP).with_cache_scope(CacheScope::Public))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        DESCRIPTIONS.iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = tools::find(&request.name) else {
            count("unknown", "unknown");
            let (name, _) = sanitize::cut(&request.name, 80);
            return Err(ErrorData::invalid_params(format!("Unknown tool: {name}"), None));
        };
        let caller = caller(&context)?;
        let started = Instant::now();
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let answer = tool.call(&self.services, caller, arguments).await;
        metric::MCP_CALL_SECONDS.record([tool.name.into()], started.elapsed());
        count(tool.name, answer.as_ref().map_or_else(|error| error.result, |_| "ok"));
        let mut result = match answer {
            Ok(ToolResult { structured, content }) => {
                let mut result = CallToolResult::success(content);
                result.structured_content = Some(structured);
                result
            }
            Err(error) => CallToolResult::error(vec![ContentBlock::text(error.text)]),
        };
        result.meta = signature(&context);
        Ok(result.into())
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        check_first_page(request.as_ref())?;
        let mut result = ListPromptsResult::with_all_items(prompts::DESCRIPTIONS.clone());
        if !self_contained(&context) {
            return Ok(result);
        }
        result.meta = signature(&context);
        Ok(result.with_ttl_ms(KEEP).with_cache_scope(CacheScope::Public))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let found = panics::catch_sync(PART, || prompts::get(&request.name, request.arguments));
        let failed = ErrorData::internal_error("Internal error of the service.", None);
        let mut result = found.map_err(|_panicked| failed)??;
        result.meta = signature(&context);
        Ok(result.into())
    }

    /// Resources are found with tools; there are too many for a list.
    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        check_first_page(request.as_ref())?;
        let mut result = ListResourcesResult::with_all_items(Vec::new());
        if self_contained(&context) {
            result.meta = signature(&context);
            result = result.with_ttl_ms(KEEP).with_cache_scope(CacheScope::Public);
        }
        Ok(result)
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        check_first_page(request.as_ref())?;
        let mut result = ListResourceTemplatesResult::with_all_items(resources::templates());
        if self_contained(&context) {
            result.meta = signature(&context);
            result = result.with_ttl_ms(KEEP).with_cache_scope(CacheScope::Public);
        }
        Ok(result)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let caller = caller(&context)?;
        let credential = caller.credential.clone();
        let read = caught(resources::read(&self.services, caller, &request.uri).boxed()).await;
        let scope = resources::scope(&request.uri);
        let failure = |error: &ToolError| error.failure(Some(scope), &credential).result;
        count("resources/read", read.as_ref().map_or_else(failure, |_| "ok"));
        let refused = |error| resources::refusal(&error, &request.uri, scope, &credential);
        let mut result = read.map_err(refused)?;
        if self_contained(&context) {
            result.meta = signature(&context);
            // Somebody may take the message back at any time.
            result = result.with_ttl_ms(0).with_cache_scope(CacheScope::Private);
        }
        Ok(result.into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let caller = caller(&context)?;
        let (services, scope) = (&self.services, Scope::ReadMessages);
        let credential = caller.credential.clone();
        let refused =
            |error: ToolError, of: &str| resources::refusal(&error, of, scope, &credential);
        let found = match &request.r#ref {
            Reference::Prompt(of) => {
                prompts::check_name(&of.name)?;
                let found = resources::complete_channel(services, &caller, &request).boxed();
                caught(found).await.map_err(|error| refused(error, &of.name))
            }
            Reference::Resource(of) => {
                let found = resources::complete(services, caller, &request, of).boxed();
                caught(found).await.map_err(|error| refused(error, &of.uri))
            }
            _ => Err(ErrorData::invalid_params("Unknown kind of reference.", None)),
        };
        let mut result = CompleteResult::new(found?);
        result.meta = signature(&context);
        Ok(result)
    }
}

fn chatkeep() -> Implementation {
    Implementation::new("chatkeep", env!("CARGO_PKG_VERSION")).with_title("Chatkeep")
}

/// Returns the icon of the service, which needs no address.
fn icon() -> Icon {
    let content = media::encoded(include_bytes!("../console/assets/icon.svg"));
    Icon::new(format!("data:image/svg+xml;base64,{content}"))
        .with_mime_type("image/svg+xml")
        .with_sizes(vec!["any".to_owned()])
}

/// Checks that a request is for the first page of a list: no list has a second one, or cursors.
fn check_first_page(request: Option<&PaginatedRequestParams>) -> Result<(), ErrorData> {
    let cursor = request.and_then(|request| request.cursor.as_deref());
    // An empty text is as good as none, as in arguments of tools.
    if cursor.is_none_or(str::is_empty) {
        return Ok(());
    }
    Err(ErrorData::invalid_params("Invalid cursor: this list is one page, without cursors.", None))
}

/// Returns true for a supported revision.
pub(super) fn is_supported(revision: &str) -> bool {
    VERSIONS.iter().any(|known| known.as_str() == revision)
}

/// Returns true for a supported revision without handshake, the first of which was 2026-07-28.
pub(super) fn has_no_handshake(revision: &str) -> bool {
    let mut versions = VERSIONS.iter();
    versions.any(|known| known.as_str() == revision && !known.has_initialize())
}

/// Returns true for a request of a revision without handshake.
fn self_contained(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| has_no_handshake(version.as_str()))
}

/// Returns the server's name and version for every result of revisions without a handshake.
fn signature(context: &RequestContext<RoleServer>) -> Option<MetaObject> {
    if self_contained(context) { server_info() } else { None }
}

/// Returns the server's name and version.
pub(super) fn server_info() -> Option<MetaObject> {
    let chatkeep = serde_json::to_value(chatkeep()).ok()?;
    let mut meta = MetaObject::new();
    meta.0.insert("io.modelcontextprotocol/serverInfo".to_owned(), chatkeep);
    Some(meta)
}

/// Returns the caller admitted by [`super::admit`]; there is no other way in.
fn caller(context: &RequestContext<RoleServer>) -> Result<Caller, ErrorData> {
    let parts = context.extensions.get::<Parts>();
    let admitted = parts.and_then(|parts| parts.extensions.get::<Admitted>());
    match admitted {
        Some(Admitted(caller)) => Ok(caller.clone()),
        None => Err(ErrorData::internal_error("the caller is not authenticated", None)),
    }
}

/// Counts a call of a tool by its result.
pub(super) fn count(tool: &'static str, result: &'static str) {
    metric::MCP_CALLS.add([tool.into(), result.into()], 1);
}
