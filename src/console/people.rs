//! The people of a channel, and a person's page: their role, and the erasure of what they wrote.

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use chatkeep_core::id::UserId;
use chatkeep_core::role::Role;
use chatkeep_i18n::{Language, Value};
use chatkeep_index::fold;
use chatkeep_services::ServiceError;
use chatkeep_services::access::{Admin, ChannelAccess, Member, ReadMembers, WriteMembers};
use chatkeep_services::members::MemberQuery;
use chatkeep_store::{Member as StoredMember, MemberStatus};
use chatkeep_view::pseudonyms::Masked;
use chatkeep_view::segment;
use serde::Deserialize;

use super::Console;
use super::channel::{Heading, Tab, dates};
use super::dates::Dates;
use super::error::PageError;
use super::form::{Done, FormErrors, SubmittedForm};
use super::frame::{Frame, rendered, rendered_as};
use super::job;
use super::labels::{hue, initial, person_name, visible};
use super::picture::person_picture;
use super::visitor::{Asked, Visitor};

/// People of a page.
const LIMIT: u32 = 100;
/// Number of people from which on a page offers to find one.
const MANY: usize = 10;

/// Part of the people that is shown.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Shown {
    /// Those who are in the channel, without guests.
    #[default]
    Present,
    /// Those who may not read.
    Guests,
    /// Those who left.
    Left,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct PeopleQuery {
    #[serde(default)]
    show: Shown,
    cursor: Option<String>,
    /// Part of the names of the people to find; empty for everybody of the shown part.
    #[serde(default)]
    q: String,
}

/// A person in the list, and on their page.
struct PersonRow {
    href: String,
    name: String,
    initial: String,
    hue: u8,
    /// Address of their picture.
    picture: Option<String>,
    /// Their role, where it is not that of a plain member.
    role: Option<String>,
    /// Sentence about when they came or left.
    since: String,
    me: bool,
}

/// Link to a part of the people.
struct PartLink {
    href: String,
    label: String,
    current: bool,
}

#[derive(Template)]
#[template(path = "console/people.html", whitespace = "minimize")]
struct PeoplePage {
    frame: Frame,
    channel: Heading,
    parts: Vec<PartLink>,
    /// True for the part of those who are in the channel.
    present: bool,
    people: Vec<PersonRow>,
    next: Option<String>,
    /// Searched part of a name.
    q: String,
    /// True where there are enough people to search them.
    finds: bool,
    /// True if more people were found than are shown.
    more: bool,
}

/// Role that the visitor may give.
struct RoleChoice {
    value: &'static str,
    label: String,
    hint: String,
    chosen: bool,
}

#[derive(Template)]
#[template(path = "console/person.html", whitespace = "minimize")]
struct PersonPage {
    frame: Frame,
    channel: Heading,
    person: PersonRow,
    roles: Vec<RoleChoice>,
    /// True for the page of the visitor, who owns the channel.
    owns: bool,
    /// True if the visitor may erase what this person wrote.
    may_erase: bool,
    /// Name that was typed to confirm the erasure.
    typed: String,
    errors: FormErrors,
}

/// Form of a person's page: one of its two buttons.
#[derive(Debug, Default, Deserialize)]
pub(super) struct PersonForm {
    action: String,
    #[serde(default)]
    role: String,
    #[serde(default)]
    typed: String,
}

pub(super) async fn list(
    State(console): State<Console>,
    visitor: Visitor,
    Path(channel): Path<String>,
    Asked(asked): Asked<PeopleQuery>,
) -> Result<Response, PageError> {
    let access = visitor.channel::<Member, ReadMembers>(&console, &channel).await?;
    let (role, status) = match asked.show {
        Shown::Present => (None, Some(MemberStatus::Active)),
        Shown::Guests => (Some(Role::Guest), None),
        Shown::Left => (None, Some(MemberStatus::Left)),
    };
    // What shows nothing is no name, and the list is that of everybody.
    let q = visible(Some(asked.q.trim().to_owned())).unwrap_or_default();
    let (is_found, is_later) = (!q.is_empty(), asked.cursor.is_some());
    let (people, next, more) = if is_found {
        let (found, more) = console.services.members.find(&access, &q, LIMIT as usize).await?;
        (found, None, more)
    } else {
        let query = MemberQuery { role, status, limit: LIMIT, cursor: asked.cursor };
        let (people, next) = console.services.members.page_by_name(&access, &query).await?;
        (people, next, false)
    };
    let finds = is_found || is_later || people.len() > MANY;
    let dates = dates(&console, &visitor, &access).await?;
    let channel = Heading::of_page(&console, &visitor, &access, Tab::People).await?;
    let part = |show: Shown, name: &str, key: &str| PartLink {
        href: format!("{}/people?show={name}", channel.path),
        label: visitor.language.text(key),
        current: show == asked.show && q.is_empty(),
    };
    let parts = vec![
        part(Shown::Present, "present", "people-present"),
        part(Shown::Guests, "guests", "people-guests"),
        part(Shown::Left, "left", "people-left"),
    ];
    let current = parts.iter().find(|part| part.current).map(|part| part.href.clone());
    let next = current.zip(next).map(|(href, cursor)| format!("{href}&cursor={cursor}"));
    let row = |person: &Masked<StoredMember>| PersonRow::new(person, &channel, &access, dates);
    let people = people.iter().map(row).collect();
    let frame = visitor.frame(visitor.language.text("tab-people"));
    let present = asked.show == Shown::Present;
    rendered(&PeoplePage { frame, channel, parts, present, people, next, q, finds, more })
}

pub(super) async fn one(
    State(console): State<Console>,
    visitor: Visitor,
    Path((channel, user)): Path<(String, String)>,
) -> Result<Response, PageError> {
    let page = PersonView::find(&console, &visitor, (&channel, &user)).await?;
    page.rendered(&visitor, String::new(), FormErrors::default())
}

pub(super) async fn change(
    State(console): State<Console>,
    Path((channel, user)): Path<(String, String)>,
    SubmittedForm { visitor, form }: SubmittedForm<PersonForm>,
) -> Result<Response, PageError> {
    let view = PersonView::find(&console, &visitor, (&channel, &user)).await?;
    let language = visitor.language;
    if form.action == "role" {
        let access = visitor.channel::<Admin, WriteMembers>(&console, &channel).await?;
        let Some(role) = Role::parse(&form.role) else { return Err(PageError::Input) };
        let user = UserId::from(user.as_str());
        return match console.services.members.set_role(&access, &user, role).await {
            Ok(()) => Ok(Done::Saved.at(&view.person.href)),
            // The page offered it: somebody has changed a role since.
            Err(ServiceError::PermissionDenied) => Err(PageError::Stale),
            Err(ServiceError::NotFound) => Err(PageError::NoPerson),
            Err(error) => view.rendered(&visitor, String::new(), FormErrors::of(error, language)?),
        };
    }
    if form.action != "erase" || !view.may_erase {
        return Err(PageError::Input);
    }
    if !agrees(&form.typed, &view.person.name) {
        let errors = FormErrors::at("/typed", language.text("person-erase-mistyped"));
        return view.rendered(&visitor, form.typed, errors);
    }
    let caller = visitor.caller()?;
    let access = console.services.access.reaches(caller, view.access.channel().clone()).await?;
    let job = console.services.deletion.erase(&access, UserId::from(user.as_str())).await?;
    Ok(job::begun(&job, &view.channel.path, &format!("{}/people", view.channel.path)))
}

/// Returns true if somebody typed that name. White space, the case and width of letters, and
/// characters that nobody sees, such as those that keyboards add to emoji, do not count.
pub(super) fn agrees(typed: &str, name: &str) -> bool {
    let plain = |text: &str| {
        let folded = fold(text);
        folded.chars().filter(|c| !c.is_whitespace()).collect::<String>()
    };
    let folded = plain(name);
    // A page asks for no such name.
    !folded.is_empty() && plain(typed) == folded
}

/// A person, as their page needs them.
struct PersonView {
    access: ChannelAccess<Member, ReadMembers>,
    channel: Heading,
    person: PersonRow,
    role: Role,
    may_erase: bool,
}

impl PersonView {
    async fn find(
        console: &Console,
        visitor: &Visitor,
        (channel, user): (&str, &str),
    ) -> Result<Self, PageError> {
        let access = visitor.channel::<Member, ReadMembers>(console, channel).await?;
        let found = console.services.members.one(&access, &UserId::from(user)).await?;
        let found = found.ok_or(PageError::NoPerson)?;
        let dates = dates(console, visitor, &access).await?;
        let channel = Heading::of_page(console, visitor, &access, Tab::People).await?;
        let person = PersonRow::new(&found, &channel, &access, dates);
        let may_erase = access.role == Role::Owner || person.me;
        Ok(Self { access, channel, person, role: found.role, may_erase })
    }

    fn rendered(
        self,
        visitor: &Visitor,
        typed: String,
        errors: FormErrors,
    ) -> Result<Response, PageError> {
        let (language, status) = (visitor.language, errors.status());
        let page = PersonPage {
            frame: visitor.frame(self.person.name.clone()),
            roles: roles(self.access.role, self.role, language),
            owns: self.person.me && self.role == Role::Owner,
            channel: self.channel,
            person: self.person,
            may_erase: self.may_erase,
            typed,
            errors,
        };
        if status == StatusCode::OK { rendered(&page) } else { Ok(rendered_as(status, &page)) }
    }
}

/// Returns the roles that a visitor may give somebody: an owner any to anyone but an owner, an admin
/// that of a member to a guest.
fn roles(visitor: Role, person: Role, language: Language) -> Vec<RoleChoice> {
    let offered: &[Role] = match (visitor, person) {
        (Role::Owner, Role::Admin | Role::Member | Role::Guest) => {
            &[Role::Admin, Role::Member, Role::Guest]
        }
        (Role::Admin, Role::Guest) => &[Role::Member, Role::Guest],
        _ => &[],
    };
    let choice = |role: &Role| RoleChoice {
        value: role.name(),
        label: language.text(&format!("role-{}", role.name())),
        hint: language.text(&format!("role-{}-hint", role.name())),
        chosen: *role == person,
    };
    offered.iter().map(choice).collect()
}

impl PersonRow {
    fn new(
        person: &StoredMember,
        channel: &Heading,
        access: &ChannelAccess<Member, ReadMembers>,
        dates: Dates,
    ) -> Self {
        let language = dates.language;
        let name = person_name(person.display_name.clone(), language);
        let (key, at) = match person.left_at.filter(|_| person.status != MemberStatus::Active) {
            Some(left) => ("person-left", left),
            None => ("person-since", person.joined_at),
        };
        let date = dates.date(dates.day(at));
        let role = (person.role != Role::Member).then_some(person.role);
        Self {
            href: format!("{}/people/{}", channel.path, segment(person.user.as_str())),
            initial: initial(&name),
            hue: hue(person.user.as_str()),
            picture: person_picture(access.channel(), &person.user, person.picture_url.as_deref()),
            role: role.map(|role| language.text(&format!("role-{}", role.name()))),
            since: language.format(key, &[("date", Value::from(&date))]),
            me: person.user == *access.user(),
            name,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_confirmed_whatever_its_spaces_and_case() {
        assert!(agrees(" ann  LEE ", "Ann Lee") && agrees("林小美", "林小美"));
        assert!(!agrees("", "Ann") && !agrees("An", "Ann"));
        let name = "Taipei Dragons FC ⚽";
        for typed in [
            "taipeidragonsfc⚽",
            "Taipei Dragons FC ⚽\u{fe0f}",
            "ＴＡＩＰＥＩ dragonsfc\u{200b}⚽",
        ] {
            assert!(agrees(typed, name) && agrees(name, typed), "{typed}");
        }
        assert!(!agrees("Taipei Dragons FC", name));
        assert!(!agrees("", "\u{200b}") && !agrees("\u{200b}", "\u{200b}"));
    }

    #[test]
    fn only_roles_that_the_visitor_may_give_are_offered() {
        let offered = |visitor, person| {
            let roles = roles(visitor, person, Language::English);
            roles.iter().map(|role| role.value).collect::<Vec<_>>()
        };
        assert_eq!(offered(Role::Owner, Role::Guest), ["admin", "member", "guest"]);
        assert_eq!(offered(Role::Admin, Role::Guest), ["member", "guest"]);
        assert!(offered(Role::Owner, Role::Owner).is_empty());
        assert!(offered(Role::Admin, Role::Member).is_empty());
        assert!(offered(Role::Member, Role::Guest).is_empty());
    }
}
