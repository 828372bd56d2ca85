//! The demonstration: a complete chatkeep in one process, with an emulated LINE, sample groups with
//! a history, and a page to chat in them beside the console.

mod act;
mod cast;
mod guard;
mod history;
mod key;
mod look_as;
mod media;
mod page;
mod people;
mod sample;
mod settings;
mod setup;
mod state;
mod texts;

use std::sync::Arc;

use anyhow::Context as _;
use chatkeep_console::Entrances;
use chatkeep_core::config::Sources;
use chatkeep_core::telemetry;
use chatkeep_core::time::{Clock as _, SharedClock, SystemClock};
use chatkeep_emulator::{Emulator, Options};
use chatkeep_transfer::out::say;
use tokio::net::TcpListener;

use crate::app::{App, ProcessRoles};
use crate::cli::on_signal;
use history::HistoryMark;
use sample::Sample;

/// Arguments of `chatkeep demo`; everything else comes from the settings.
#[derive(Debug, clap::Args)]
pub struct DemoArgs {
    /// Sample groups: `full` has five, four of them with a year of messages; `small` has one, which
    /// begins with the first start.
    #[arg(long, value_enum, default_value_t)]
    pub sample: SampleSize,
}

/// Size of the sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum SampleSize {
    /// All groups, with their histories.
    #[default]
    Full,
    /// One group without a history.
    Small,
}

/// Runs the demonstration until shutdown.
///
/// # Errors
/// Returns an error when a part cannot be started.
pub async fn run(args: DemoArgs, sources: Sources) -> anyhow::Result<()> {
    let mut options = Options::new(Arc::new(|| SystemClock.now().millis()));
    options.channel_secret = chatkeep_core::random::api_key();
    options.access_token = chatkeep_core::random::api_key();
    let mut config = settings::load(sources, &options)?;
    let telemetry = telemetry::init(&config.log, &config.telemetry)?;
    let line = Emulator::start(options).await?;
    for bot in &mut config.line {
        bot.api_base = line.api_base();
        bot.data_api_base = line.api_base();
    }
    let (address, folder) = (config.listen, config.data.clone());
    let listener = TcpListener::bind(address)
        .await
        .with_context(|| format!("cannot listen on {address}; --listen takes another address"))?;
    let address = listener.local_addr()?;
    config.api.base_url = Some(if address.ip().is_unspecified() {
        format!("http://localhost:{}", address.port())
    } else {
        format!("http://{address}")
    });
    line.set_webhook_url(Some(format!("http://{address}/webhook/line")));

    let clock: SharedClock = Arc::new(SystemClock);
    let mark = HistoryMark::of(&folder)?;
    let mut app = Box::pin(App::open(config, ProcessRoles::default(), Arc::clone(&clock))).await?;
    app.enter_at(Entrances { home: "/demo", sign_in: Some(look_as::PATH), framed: true });
    let sessions = app.browser_sessions()?;
    let sample = Sample::new(line.clone(), &app, clock, (&folder, args.sample), &mark);
    let sample = Box::pin(sample).await?;
    let sample = Arc::new(sample);
    let page = page::router(Arc::clone(&sample), app.tap().clone())
        .merge(look_as::router(Arc::clone(&sample), sessions));
    let finish = |router: axum::Router| guard::only_local(page.merge(router));
    let stop = on_signal()?;
    let ended = stop.clone();
    #[expect(clippy::disallowed_methods, reason = "it is joined, and its panic with it")]
    let running = tokio::spawn(app.run(listener, finish, stop.clone()));
    let prepared = stop.run_until_cancelled(sample.prepare()).await;
    match prepared {
        // A closed standard output does not stop the demo.
        Some(Ok(())) => drop(say!("{}", sample.greeting(address, &folder))),
        Some(Err(error)) => {
            ended.cancel();
            running.await??;
            return Err(error);
        }
        None => {}
    }
    running.await??;
    line.shutdown().await;
    telemetry.finish().await;
    Ok(())
}
