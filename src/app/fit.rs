//! Preflight check: are the settings sufficient for the roles of a process?

use chatkeep_core::config::{BusKind, Config};

use super::{Duties, Role};

/// Missing setting that a role of the process needs. Ends the process with exit code 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unfit(pub String);

/// Checks the settings that the roles need.
pub(super) fn check(config: &Config, duties: &Duties) -> Result<(), Unfit> {
    let has = |role| duties.roles.contains(&role);
    let missing = |name: &str, role: &str| {
        Unfit(format!(
            "{name} is not set: the {role} role needs it (environment {name} or {name}_FILE, or \
             the bot's [line] section of chatkeep.toml); the LINE Developers console shows it"
        ))
    };
    for bot in &config.line {
        if has(Role::Ingress) && bot.channel_secret.is_none() {
            return Err(missing(&bot.channel_secret_variable, "ingress"));
        }
        if has(Role::Worker) && bot.access_token.is_none() {
            return Err(missing(&bot.access_token_variable, "worker"));
        }
    }
    if matches!(config.bus, BusKind::Embedded) && has(Role::Ingress) != has(Role::Worker) {
        return Err(Unfit(
            "the embedded bus lives in one process: ingress and worker must be together \
             (--roles), or CHATKEEP_BUS must be nats://…"
                .to_owned(),
        ));
    }
    Ok(())
}
