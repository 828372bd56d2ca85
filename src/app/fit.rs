//! Whether the settings are enough for what a process is to do.

use chatkeep_core::config::{BusKind, Config};

use super::{Duties, Role};

/// A setting that is missing for what the process is to do. Ends it with exit code 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unfit(pub String);

/// Looks at what the roles need.
pub(super) fn check(config: &Config, duties: &Duties) -> Result<(), Unfit> {
    let has = |role| duties.roles.contains(&role);
    check_secrets(config, &has)?;
    if matches!(config.bus, BusKind::Embedded) && has(Role::Ingress) != has(Role::Worker) {
        return Err(Unfit(
            "the embedded bus lives in one process: ingress and worker must be together \
             (--roles), or CHATKEEP_BUS must be nats://…"
                .to_owned(),
        ));
    }
    Ok(())
}

/// Names all missing secrets at once, so that nobody has to start the program once for each.
fn check_secrets(config: &Config, has: &impl Fn(Role) -> bool) -> Result<(), Unfit> {
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
    Err(Unfit(format!(
        "secrets are missing; the LINE Developers console shows them:{}\n  (each in the environment, \
         as a file named by the variable with _FILE behind it, or in the bot's section of \
         chatkeep.toml; `chatkeep demo` needs none)",
        lines.collect::<String>()
    )))
}
