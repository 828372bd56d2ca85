//! Pages of a channel: their heading, their tabs, their dates.

use chatkeep_core::role::Role;
use chatkeep_services::access::{ChannelAccess, Member, ReadMembers};
use chatkeep_services::members::MemberQuery;
use chatkeep_store::{Channel, MemberStatus};
use chatkeep_view::channel_path;

use super::Console;
use super::dates::Dates;
use super::error::PageError;
use super::labels::{chat_name, hue, initial};
use super::picture::channel_picture;
use super::visitor::Visitor;

/// Channel as the header of its pages shows it.
#[derive(Debug)]
pub(super) struct Heading {
    pub(super) name: String,
    pub(super) initial: String,
    pub(super) hue: u8,
    /// Address of its picture.
    pub(super) picture: Option<String>,
    pub(super) members: String,
    /// Path of the conversation.
    pub(super) path: String,
    /// Pages of the channel that the visitor may open.
    pub(super) tabs: Vec<TabLink>,
}

/// Page of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tab {
    /// The conversation.
    Messages,
    /// The search.
    Search,
    /// Photos and files.
    Media,
    /// The assistant, for admins.
    Assistant,
    /// The people.
    People,
    /// The activity.
    Activity,
    /// Settings of the backup.
    Settings,
}

/// Link to a page of a channel.
#[derive(Debug)]
pub(super) struct TabLink {
    pub(super) href: String,
    pub(super) label: String,
    pub(super) current: bool,
}

impl Tab {
    const ALL: [Self; 7] = [
        Self::Messages,
        Self::Search,
        Self::Media,
        Self::Assistant,
        Self::People,
        Self::Activity,
        Self::Settings,
    ];

    /// Returns the key of its name, its path below the channel's, and the role that may open it.
    const fn parts(self) -> (&'static str, &'static str, Role) {
        match self {
            Self::Messages => ("tab-messages", "", Role::Member),
            Self::Search => ("tab-search", "/search", Role::Member),
            Self::Media => ("tab-media", "/media", Role::Member),
            Self::Assistant => ("tab-assistant", "/assistant", Role::Admin),
            Self::People => ("tab-people", "/people", Role::Member),
            Self::Activity => ("tab-activity", "/activity", Role::Member),
            Self::Settings => ("tab-settings", "/settings", Role::Member),
        }
    }
}

impl Heading {
    /// Creates the heading of a channel in a list.
    pub(super) fn new(channel: &Channel, visitor: &Visitor) -> Self {
        let language = visitor.language;
        let name = chat_name(channel.name.clone(), language);
        Self {
            initial: initial(&name),
            hue: hue(channel.id.as_str()),
            picture: channel_picture(&channel.id, channel.picture_url.as_deref()),
            members: language.format("chat-members", &[("count", channel.member_count.into())]),
            path: channel_path(&channel.id),
            name,
            tabs: Vec::new(),
        }
    }

    /// Returns the name of a channel as its pages show it.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    pub(super) async fn name<R: Sync, S: Sync>(
        console: &Console,
        visitor: &Visitor,
        access: &ChannelAccess<R, S>,
    ) -> Result<String, PageError> {
        let channel = console.services.channels.one(access).await?;
        Ok(Self::new(&channel, visitor).name)
    }

    /// Returns the heading of one of a channel's pages.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    pub(super) async fn of_page<R: Sync, S: Sync>(
        console: &Console,
        visitor: &Visitor,
        access: &ChannelAccess<R, S>,
        page: Tab,
    ) -> Result<Self, PageError> {
        let channel = console.services.channels.one(access).await?;
        let mut heading = Self::new(&channel, visitor);
        let open = Tab::ALL.into_iter().filter(|tab| access.role >= tab.parts().2);
        let link = |tab: Tab| {
            let (key, path, _) = tab.parts();
            let href = format!("{}{path}", heading.path);
            TabLink { href, label: visitor.language.text(key), current: tab == page }
        };
        heading.tabs = open.map(link).collect();
        Ok(heading)
    }
}

/// Returns true for a channel without an owner who is in it: the next one who subscribes becomes it.
///
/// # Errors
/// Returns an error when the store fails.
pub(super) async fn is_ownerless(
    console: &Console,
    access: &ChannelAccess<Member, ReadMembers>,
) -> Result<bool, PageError> {
    let query = MemberQuery {
        role: Some(Role::Owner),
        status: Some(MemberStatus::Active),
        limit: 1,
        cursor: None,
    };
    let (owners, _) = console.services.members.page(access, &query).await?;
    Ok(owners.is_empty())
}

/// Returns the dates of a channel's pages.
pub(super) async fn dates<R: Sync, S: Sync>(
    console: &Console,
    visitor: &Visitor,
    access: &ChannelAccess<R, S>,
) -> Result<Dates, PageError> {
    let zone = console.services.messages.zone(Some(access.without_reading())).await?;
    Ok(Dates { language: visitor.language, zone, now: console.clock.now() })
}
