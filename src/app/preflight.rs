//! Preflight check: are the settings sufficient for the roles of a process?

use chatkeep_core::config::{BusKind, Config};

use super::{ProcessRoles, Role};

/// Missing setting that a role of the process needs. Ends the process with exit code 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct PreflightError(pub String);

/// Checks the settings that the roles need.
pub(super) fn preflight_check(
    config: &Config,
    process_roles: &ProcessRoles,
) -> Result<(), PreflightError> {
    let has = |role| process_roles.roles.contains(&role);
    check_secrets(config, &has)?;
    if matches!(config.bus, BusKind::Embedded) && has(Role::Ingress) != has(Role::Worker) {
        return Err(PreflightError(
            "the embedded bus works within one process: run ingress and worker together (--roles), \
             or set CHATKEEP_BUS to nats://…"
                .to_owned(),
        ));
    }
    Ok(())
}

/// Names all missing secrets at once, so that nobody has to start the program once for each.
fn check_secrets(config: &Config, has: &impl Fn(Role) -> bool) -> Result<(), PreflightError> {
    let mut missing = Vec::new();
    for bot in &config.line {
        if has(Role::Ingress) && bot.channel_secret.is_none() {
            missing.push((&bot.channel_secret_variable, "channel secret", bot, Role::Ingress));
        }
        if has(Role::Worker) && bot.access_token.is_none() {
            missing.push((&bot.access_token_variable, "channel access token", bot, Role::Worker));
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let lines = missing.iter().map(|(variable, what, bot, role)| {
        let (bot, role) = (&bot.name, role.name());
        format!("\n  {variable} is not set: the {what} of the bot {bot}, for the role {role}")
    });
    Err(PreflightError(format!(
        "secrets are missing; the LINE Developers console shows them:{}\n  (each in the environment, \
         as a file named by the variable with _FILE behind it, or in the bot's section of \
         chatkeep.toml; `chatkeep demo` needs none)",
        lines.collect::<String>()
    )))
}
