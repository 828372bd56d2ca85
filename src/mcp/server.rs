//! Protocol side of the tools: the service's self-description, and calls with their metrics.

use std::borrow::Cow;
use std::time::Instant;

use axum::http::request::Parts;
use chatkeep_core::metric;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestMethod,
    CompleteRequestParams, CompleteResult, ContentBlock, DiscoverResult, Implementation,
    ListPromptsRequestMethod, ListPromptsResult, ListResourceTemplatesRequestMethod,
    ListResourceTemplatesResult, ListResourcesRequestMethod, ListResourcesResult, ListToolsResult,
    MetaObject, PaginatedRequestParams, ProtocolVersion, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;

use super::Admitted;
use super::call::{Name, ToolResult};
use super::tools::{INSTRUCTIONS, TOOLS};
use crate::sanitize;
use crate::services::{Caller, Services};

/// Supported protocol revisions.
static VERSIONS: [ProtocolVersion; 3] =
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
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(chatkeep())
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
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut result = ListToolsResult::with_all_items(TOOLS.clone());
        if !self_contained(&context) {
            return Ok(result);
        }
        result.meta = signature(&context);
        Ok(result.with_ttl_ms(KEEP).with_cache_scope(CacheScope::Public))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        TOOLS.iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(name) = Name::parse(&request.name) else {
            count("unknown", "unknown");
            let (name, _) = sanitize::cut(&request.name, 80);
            return Err(ErrorData::invalid_params(format!("Unknown tool: {name}"), None));
        };
        let caller = caller(&context)?;
        let started = Instant::now();
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let answer = name.call(&self.services, caller, arguments).await;
        metric::MCP_CALL_SECONDS.record([name.text().into()], started.elapsed());
        count(name.text(), answer.as_ref().map_or_else(|error| error.result, |_| "ok"));
        let mut result = match answer {
            Ok(ToolResult { structured, text }) => {
                let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
                result.structured_content = Some(structured);
                result
            }
            Err(error) => CallToolResult::error(vec![ContentBlock::text(error.text)]),
        };
        result.meta = signature(&context);
        Ok(result.into())
    }

    // There are tools, and nothing else.

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourcesRequestMethod>())
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourceTemplatesRequestMethod>())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListPromptsRequestMethod>())
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(ErrorData::method_not_found::<CompleteRequestMethod>())
    }
}

fn chatkeep() -> Implementation {
    Implementation::new("chatkeep", env!("CARGO_PKG_VERSION")).with_title("Chatkeep")
}

/// Returns true for a request of a revision without handshake, the first of which was 2026-07-28.
fn self_contained(context: &RequestContext<RoleServer>) -> bool {
    let version = context.protocol_version();
    version.is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

/// Returns the server's name and version for every result of revisions without a handshake.
fn signature(context: &RequestContext<RoleServer>) -> Option<MetaObject> {
    if !self_contained(context) {
        return None;
    }
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

fn count(tool: &'static str, result: &'static str) {
    metric::MCP_CALLS.add([tool.into(), result.into()], 1);
}
