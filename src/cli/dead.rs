//! `chatkeep dead …`: dead letters of the stages.

use anyhow::bail;
use chatkeep_bus::{Bus, DeadLetter};

use super::{Context, table};
use crate::out::{note, say};

#[derive(Debug, clap::Subcommand)]
pub(super) enum DeadCommand {
    /// Lists dead letters, oldest first.
    List {
        /// Maximum number of dead letters to list.
        #[arg(long, default_value_t = 100)]
        limit: usize,
        /// Print one JSON object a line.
        #[arg(long)]
        json: bool,
    },
    /// Shows a dead letter with its content (which may include a message's text).
    Show {
        /// Id of the dead letter, as shown by `list`.
        id: String,
    },
    /// Returns a dead letter, or all, to its stage for another attempt.
    Retry {
        /// Id of the dead letter, or `all`.
        id: String,
    },
    /// Deletes a dead letter, or all, permanently.
    Drop {
        /// Id of the dead letter, or `all`.
        id: String,
    },
}

/// Maximum number of dead letters that `all` stands for.
const ALL: usize = 100_000;

pub(super) async fn run(context: &Context, command: DeadCommand) -> anyhow::Result<()> {
    let bus = context.bus().await?;
    let done = match command {
        DeadCommand::List { limit, json } => list(&bus, limit, json).await,
        DeadCommand::Show { id } => show(&bus, &id).await,
        DeadCommand::Retry { id } => each(&bus, &id, "returned to the stage", Action::Retry).await,
        DeadCommand::Drop { id } => each(&bus, &id, "dropped", Action::Drop).await,
    };
    bus.close().await;
    done
}

#[derive(Clone, Copy)]
enum Action {
    Retry,
    Drop,
}

async fn list(bus: &Bus, limit: usize, json: bool) -> anyhow::Result<()> {
    let letters = bus.dead_letters(limit).await?;
    if json {
        return letters.iter().try_for_each(table::json);
    }
    let row = |letter: &DeadLetter| {
        vec![
            letter.id.clone(),
            letter.consumer.clone(),
            letter.message_id.clone(),
            letter.attempts.to_string(),
            letter.died_at.to_string(),
            letter.reason.clone(),
        ]
    };
    let rows: Vec<_> = letters.iter().map(row).collect();
    table::print(&["ID", "STAGE", "EVENT", "ATTEMPTS", "GAVE UP", "REASON"], &rows)
}

async fn show(bus: &Bus, id: &str) -> anyhow::Result<()> {
    let Some(letter) = bus.dead_letter(id).await? else { bail!("unknown dead letter {id}") };
    say!("{}", serde_json::to_string_pretty(&letter)?)?;
    say!("{}", String::from_utf8_lossy(&letter.payload))?;
    Ok(())
}

async fn each(bus: &Bus, id: &str, done: &str, action: Action) -> anyhow::Result<()> {
    if id != "all" {
        if !act(bus, id, action).await? {
            bail!("unknown dead letter {id}");
        }
        note!("{id} was {done}");
        return Ok(());
    }
    // Only the present ones: one that fails again at once must not be retried for ever.
    let letters = bus.dead_letters(ALL).await?;
    let mut count = 0_usize;
    for letter in &letters {
        count += usize::from(act(bus, &letter.id, action).await?);
    }
    note!("{count} dead letters were {done}");
    Ok(())
}

async fn act(bus: &Bus, id: &str, action: Action) -> anyhow::Result<bool> {
    Ok(match action {
        Action::Retry => bus.retry_dead_letter(id).await?,
        Action::Drop => bus.drop_dead_letter(id).await?,
    })
}
