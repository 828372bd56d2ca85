//! `chatkeep dead …`: dead letters of the stages.

use anyhow::anyhow;
use chatkeep_bus::DeadLetter;
use chatkeep_services::dead_letters::{DeadLetterDecision, DeadLetterService};
use chatkeep_transfer::out::{note, say};

use super::{Context, table};

#[derive(Debug, clap::Subcommand)]
pub(super) enum DeadCommand {
    /// Lists dead letters, oldest first.
    List {
        /// Maximum number of dead letters to list.
        #[arg(long, default_value_t = 100)]
        limit: usize,
        /// Print one JSON object per line.
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

pub(super) async fn run(context: &Context, command: DeadCommand) -> anyhow::Result<()> {
    let bus = context.bus().await?;
    let letters = DeadLetterService::new(bus.clone());
    let done = perform(context, &letters, command).await;
    bus.close().await;
    done
}

async fn perform(
    context: &Context,
    letters: &DeadLetterService,
    command: DeadCommand,
) -> anyhow::Result<()> {
    match command {
        DeadCommand::List { limit, json } => {
            list(&letters.list(&context.operator, limit).await?, json)
        }
        DeadCommand::Show { id } => {
            let letter = letters.one(&context.operator, &id).await?;
            show(&letter.ok_or_else(|| unknown(&id))?)
        }
        DeadCommand::Retry { id } => decide(context, letters, &id, DeadLetterDecision::Retry).await,
        DeadCommand::Drop { id } => decide(context, letters, &id, DeadLetterDecision::Drop).await,
    }
}

fn list(letters: &[DeadLetter], json: bool) -> anyhow::Result<()> {
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

fn show(letter: &DeadLetter) -> anyhow::Result<()> {
    say!("{}", serde_json::to_string_pretty(letter)?)?;
    say!("{}", String::from_utf8_lossy(&letter.payload))?;
    Ok(())
}

async fn decide(
    context: &Context,
    letters: &DeadLetterService,
    id: &str,
    decision: DeadLetterDecision,
) -> anyhow::Result<()> {
    let done = match decision {
        DeadLetterDecision::Retry => "returned to the stage",
        DeadLetterDecision::Drop => "dropped",
    };
    if id == "all" {
        let count = letters.decide_all(&context.operator, decision).await?;
        note!("{count} dead letters were {done}");
        return Ok(());
    }
    if !letters.decide(&context.operator, id, decision).await? {
        return Err(unknown(id));
    }
    note!("{id} was {done}");
    Ok(())
}

fn unknown(id: &str) -> anyhow::Error {
    anyhow!("unknown dead letter {id}")
}
