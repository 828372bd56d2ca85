//! Lookup endpoints: profiles, members and chats.
//!
//! Requests about a person who left, or a chat that the bot was removed from, get 404 and violate
//! no rule: callers cannot know that in advance. Requests about IDs that no webhook contained do.

use axum::Json;
use axum::extract::{Path, State};
use serde_json::{Value, json};

use super::refusal::Refusal;
use crate::account::ChatMode;
use crate::action::Action;
use crate::log::Rule;
use crate::world::{Chat, ChatKind, User, World};
use crate::{Emulator, lock};

type Found = Result<Json<Value>, Refusal>;

pub(super) async fn info(State(emulator): State<Emulator>) -> Json<Value> {
    let bot = emulator.bot();
    let mut info = profile_of(&bot);
    info["basicId"] = format!("@{}", &bot.user_id[1..9]).into();
    let mode = emulator.account().chat_mode;
    info["chatMode"] = mode.name().into();
    info["markAsReadMode"] = if mode == ChatMode::Bot { "auto" } else { "manual" }.into();
    Json(info)
}

pub(super) async fn profile(State(emulator): State<Emulator>, Path(user): Path<String>) -> Found {
    let world = lock(&emulator.shared.world);
    let chat = chat(&world, &user, ChatKind::User)?;
    if !chat.has_bot {
        return Err(Refusal::not_found());
    }
    let user = member(&world, chat, &user)?;
    let mut profile = profile_of(user);
    if let Some(language) = &user.language {
        profile["language"] = language.as_str().into();
    }
    Ok(Json(profile))
}

pub(super) async fn summary(State(emulator): State<Emulator>, Path(id): Path<String>) -> Found {
    let world = lock(&emulator.shared.world);
    let chat = chat_with_bot(&world, &id, ChatKind::Group)?;
    let mut summary = json!({ "groupId": chat.chat_id, "groupName": chat.name });
    if let Some(url) = &chat.picture_url {
        summary["pictureUrl"] = url.as_str().into();
    }
    Ok(Json(summary))
}

pub(super) async fn group_count(State(emulator): State<Emulator>, Path(id): Path<String>) -> Found {
    count(&emulator, &id, ChatKind::Group)
}

pub(super) async fn room_count(State(emulator): State<Emulator>, Path(id): Path<String>) -> Found {
    count(&emulator, &id, ChatKind::Room)
}

fn count(emulator: &Emulator, id: &str, kind: ChatKind) -> Found {
    let world = lock(&emulator.shared.world);
    let chat = chat_with_bot(&world, id, kind)?;
    Ok(Json(json!({ "count": chat.members.len() })))
}

pub(super) async fn group_member(
    State(emulator): State<Emulator>,
    Path((id, user)): Path<(String, String)>,
) -> Found {
    profile_in(&emulator, &id, &user, ChatKind::Group)
}

pub(super) async fn room_member(
    State(emulator): State<Emulator>,
    Path((id, user)): Path<(String, String)>,
) -> Found {
    profile_in(&emulator, &id, &user, ChatKind::Room)
}

fn profile_in(emulator: &Emulator, id: &str, user: &str, kind: ChatKind) -> Found {
    let world = lock(&emulator.shared.world);
    let chat = chat_with_bot(&world, id, kind)?;
    Ok(Json(profile_of(member(&world, chat, user)?)))
}

pub(super) async fn leave_group(State(emulator): State<Emulator>, Path(id): Path<String>) -> Found {
    leave(emulator, &id, ChatKind::Group)
}

pub(super) async fn leave_room(State(emulator): State<Emulator>, Path(id): Path<String>) -> Found {
    leave(emulator, &id, ChatKind::Room)
}

/// The bot leaves on its own and receives the same webhook as on removal.
fn leave(emulator: Emulator, id: &str, kind: ChatKind) -> Found {
    chat_with_bot(&lock(&emulator.shared.world), id, kind)?;
    let left = emulator.build(Action::BotLeaves { chat: id.to_owned() });
    let events = left.map_err(|_| Refusal::not_found())?;
    tokio::spawn(async move { emulator.deliver_events(events).await });
    Ok(Json(json!({})))
}

fn chat_with_bot<'a>(world: &'a World, id: &str, kind: ChatKind) -> Result<&'a Chat, Refusal> {
    let chat = chat(world, id, kind)?;
    if chat.has_bot { Ok(chat) } else { Err(Refusal::not_found()) }
}

fn chat<'a>(world: &'a World, id: &str, kind: ChatKind) -> Result<&'a Chat, Refusal> {
    let (prefix, parameter) = match kind {
        ChatKind::Group => ('C', "groupId"),
        ChatKind::Room => ('R', "roomId"),
        ChatKind::User => ('U', "userId"),
    };
    check_form(id, prefix, parameter)?;
    world.chats.get(id).ok_or_else(unknown)
}

fn member<'a>(world: &'a World, chat: &Chat, user: &str) -> Result<&'a User, Refusal> {
    check_form(user, 'U', "userId")?;
    let known = world.users.get(user).ok_or_else(unknown)?;
    let is_member = chat.members.iter().any(|member| member == user);
    if is_member { Ok(known) } else { Err(Refusal::not_found()) }
}

fn unknown() -> Refusal {
    Refusal::not_found().because(Rule::IdKnown, "an id that was never told")
}

/// Ids are a letter and 32 hexadecimal digits.
fn check_form(id: &str, prefix: char, parameter: &str) -> Result<(), Refusal> {
    let digits = id.strip_prefix(prefix);
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if digits.is_some_and(|digits| digits.len() == 32 && digits.bytes().all(is_hex)) {
        return Ok(());
    }
    Err(Refusal::bad_request(format!("The value for the '{parameter}' parameter is invalid"))
        .because(Rule::IdForm, parameter))
}

fn profile_of(user: &User) -> Value {
    let mut profile = json!({ "userId": user.user_id, "displayName": user.display_name });
    if let Some(url) = &user.picture_url {
        profile["pictureUrl"] = url.as_str().into();
    }
    profile
}
