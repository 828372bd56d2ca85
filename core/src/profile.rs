//! People and chats as a platform shows them.

/// A person as the platform shows them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Their name.
    pub display_name: String,
    /// Their picture.
    pub picture_url: Option<String>,
    /// Their language as a BCP 47 tag, if the platform names it.
    pub language: Option<String>,
}

/// A chat as the platform shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChannelSummary {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Its picture.
    pub picture_url: Option<String>,
    /// Number of people in it, without the bot.
    pub member_count: Option<i64>,
}
