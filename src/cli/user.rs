//! `chatkeep user …`.

use anyhow::bail;
use chatkeep_core::id::UserId;
use chatkeep_core::plan::Plan;
use chatkeep_transfer::out::note;

use super::{Context, CreatingContext, table};
use crate::app::PreflightError;

#[derive(Debug, clap::Subcommand)]
pub(super) enum UserCommand {
    /// Adds a user (on LINE: the person's own `U…` id).
    Add {
        /// Id of the user.
        id: String,
        /// Display name until the platform provides it.
        #[arg(long)]
        name: Option<String>,
        /// Plan: free, standard or pro.
        #[arg(long)]
        plan: Option<String>,
    },
    /// Lists users.
    List {
        /// Print one JSON object per line.
        #[arg(long)]
        json: bool,
    },
    /// Changes a user's plan.
    SetPlan {
        /// Id of the user.
        id: String,
        /// Plan: free, standard or pro.
        plan: String,
    },
}

/// Page size when reading users.
const PAGE: u32 = 500;

pub(super) async fn run(creator: &CreatingContext, command: UserCommand) -> anyhow::Result<()> {
    let context = &creator.0;
    match command {
        UserCommand::Add { id, name, plan } => {
            add(creator, &id.into(), name.as_deref(), plan.as_deref()).await
        }
        UserCommand::List { json } => list(context, json).await,
        UserCommand::SetPlan { id, plan } => set_plan(context, &id.into(), &plan).await,
    }
}

fn plan_of(name: &str) -> Result<Plan, PreflightError> {
    let unknown = || PreflightError(format!("unknown plan {name:?}; allowed: free, standard, pro"));
    Plan::parse(name).ok_or_else(unknown)
}

async fn add(
    creator: &CreatingContext,
    id: &UserId,
    name: Option<&str>,
    plan: Option<&str>,
) -> anyhow::Result<()> {
    let plan = plan.map(plan_of).transpose()?;
    if id.as_str().trim().is_empty() {
        bail!(PreflightError("the user id must not be empty".to_owned()));
    }
    let (context, store) = (&creator.0, creator.store().await?);
    context.accounts(&store).register(&context.operator, id, name, plan).await?;
    note!("user {id} is registered");
    store.close().await;
    Ok(())
}

async fn list(context: &Context, json: bool) -> anyhow::Result<()> {
    let store = context.store().await?;
    let accounts = context.accounts(&store);
    let mut rows = Vec::new();
    let mut after = None;
    loop {
        let page = accounts.page_of_all(&context.operator, after.as_ref(), PAGE).await?;
        for user in &page {
            let name = user.display_name.clone().unwrap_or_default();
            if json {
                table::json(&serde_json::json!({
                    "userId": user.id, "displayName": name, "plan": user.plan,
                    "usedBytes": user.used, "createdAt": user.created_at,
                }))?;
            } else {
                let (plan, used) = (user.plan.to_string(), user.used.to_string());
                rows.push(vec![user.id.to_string(), name, plan, used, user.created_at.to_string()]);
            }
        }
        match page.last() {
            Some(last) => after = Some(last.id.clone()),
            None => break,
        }
    }
    if !json {
        table::print(&["USER", "NAME", "PLAN", "USED BYTES", "CREATED"], &rows)?;
    }
    store.close().await;
    Ok(())
}

async fn set_plan(context: &Context, id: &UserId, plan: &str) -> anyhow::Result<()> {
    let plan = plan_of(plan)?;
    let store = context.store().await?;
    let known = context.accounts(&store).set_plan(&context.operator, id, plan).await?;
    store.close().await;
    if !known {
        bail!("unknown user {id}; `chatkeep user add {id}` creates it");
    }
    note!("{id} is on plan {plan} ({} bytes)", plan.quota());
    Ok(())
}
