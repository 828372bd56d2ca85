//! The tools by name, and their dispatch.

use chatkeep_core::role::Scope;
use serde::Serialize;
use serde_json::Value;

use super::error::ToolError;
use super::{lists, read as reading};
use crate::decode::arguments as read;
use crate::services::{Caller, ServiceError, Services};

/// A tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    ListChannels,
    GetMessages,
    SearchMessages,
    GetMembers,
}

/// Result of a tool, in both forms.
#[derive(Debug)]
pub(super) struct ToolResult {
    pub(super) structured: Value,
    pub(super) text: String,
}

impl ToolResult {
    pub(super) fn new<T: Serialize>((answer, text): (T, String)) -> Result<Self, ServiceError> {
        let structured = serde_json::to_value(answer).map_err(|_| ServiceError::Internal)?;
        Ok(Self { structured, text })
    }
}

impl Name {
    pub(super) const ALL: [Self; 4] =
        [Self::ListChannels, Self::GetMessages, Self::SearchMessages, Self::GetMembers];

    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::ListChannels => "list_channels",
            Self::GetMessages => "get_messages",
            Self::SearchMessages => "search_messages",
            Self::GetMembers => "get_members",
        }
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|name| name.text() == text)
    }

    /// Returns the required scope; every key may list channels, as in REST.
    const fn scope(self) -> Option<Scope> {
        match self {
            Self::ListChannels => None,
            Self::GetMessages | Self::SearchMessages => Some(Scope::ReadMessages),
            Self::GetMembers => Some(Scope::ReadMembers),
        }
    }

    /// Calls the tool.
    pub(super) async fn call(
        self,
        services: &Services,
        caller: Caller,
        arguments: Value,
    ) -> Result<ToolResult, ToolError> {
        let given = arguments.clone();
        let answer = Box::pin(self.run(services, caller, arguments)).await;
        answer.map_err(|error| ToolError::new(&error, &given, self.scope()))
    }

    async fn run(
        self,
        services: &Services,
        caller: Caller,
        arguments: Value,
    ) -> Result<ToolResult, ServiceError> {
        match self {
            Self::ListChannels => lists::channels(services, caller, read(arguments)?).await,
            Self::GetMessages => reading::messages(services, caller, read(arguments)?).await,
            Self::SearchMessages => reading::hits(services, caller, read(arguments)?).await,
            Self::GetMembers => lists::members(services, caller, read(arguments)?).await,
        }
    }
}
