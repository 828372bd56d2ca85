//! `chatkeep bus`: durable consumers of the bus, and its owner.

use std::sync::Arc;

use anyhow::bail;
use chatkeep_core::config::BusKind;
use chatkeep_services::consumers::ConsumerService;
use chatkeep_transfer::out::note;
use chatkeep_workers::StageName;

use super::{Context, table};
use crate::app::{self, PreflightError};

#[derive(Debug, clap::Subcommand)]
pub(super) enum BusCommand {
    /// Lists the durable consumers and the number of messages waiting for each.
    Consumers {
        /// Print one JSON object per line.
        #[arg(long)]
        json: bool,
    },
    /// Removes a durable consumer that no process serves, with all messages that only it had yet to
    /// handle. With the embedded bus, stop the service first.
    RemoveConsumer {
        /// Name of the consumer.
        name: String,
        /// Remove it even if a stage of this version has that name.
        #[arg(long)]
        force: bool,
    },
    /// Makes this database the owner of the events on the NATS server, after the database that
    /// owned them was lost or replaced. Stop all processes that use that database first.
    Adopt,
}

pub(super) async fn run(context: &Context, command: BusCommand) -> anyhow::Result<()> {
    let bus = match (&command, &context.config.bus) {
        // Only its owner may change the file of the embedded bus.
        (BusCommand::RemoveConsumer { .. }, BusKind::Embedded) => {
            context.bus().await?.close().await;
            app::open_bus(&context.config, Arc::clone(&context.clock)).await?
        }
        _ => context.bus().await?,
    };
    let done = perform(context, &ConsumerService::new(bus.clone()), command).await;
    bus.close().await;
    done
}

async fn perform(
    context: &Context,
    consumers: &ConsumerService,
    command: BusCommand,
) -> anyhow::Result<()> {
    match command {
        BusCommand::Consumers { json } => {
            let consumers = consumers.list(&context.operator).await?;
            if json {
                return consumers.iter().try_for_each(table::json);
            }
            let rows: Vec<_> = consumers
                .into_iter()
                .map(|c| vec![c.name, c.stream.to_owned(), c.backlog.to_string()])
                .collect();
            table::print(&["CONSUMER", "STREAM", "WAITING"], &rows)
        }
        BusCommand::RemoveConsumer { name, force } => {
            if StageName::has_consumer(&name) && !force {
                return Err(PreflightError(format!(
                    "{name} is a stage of this version: its pending messages would be lost; \
                     --force removes it anyway"
                ))
                .into());
            }
            if !consumers.remove(&context.operator, &name).await? {
                bail!("unknown consumer {name}");
            }
            note!("removed the consumer {name}");
            Ok(())
        }
        BusCommand::Adopt => {
            if matches!(context.config.bus, BusKind::Embedded) {
                return Err(PreflightError(
                    "the embedded bus belongs to its data folder; only a NATS server is adopted"
                        .into(),
                )
                .into());
            }
            let store = context.store().await?;
            let owner = app::bus_owner(&store).await?;
            store.close().await;
            consumers.adopt(&context.operator, &owner).await?;
            note!("the bus belongs to this database");
            Ok(())
        }
    }
}
