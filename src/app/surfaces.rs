//! Surfaces of a process: every route that it serves, and the layers around each.
//!
//! The order of the layers matters. The caller of a request is found out before anything of the
//! API, the MCP server, the console, sign-in or authorization runs. Health, webhooks of the
//! platform, the documentation and the files of the console's pages are for everybody, without a
//! rate limit.

use std::sync::Arc;

use anyhow::Context as _;
use axum::Router;
use axum::middleware::from_fn_with_state;
use chatkeep_api::{Api, Idempotency};
use chatkeep_console::{Console, SignInOffer};
use chatkeep_core::config::{LineConfig, RateLimitConfig};
use chatkeep_core::http::guard::GuardedClient;
use chatkeep_http::rate_limit::{Limiter, RateLimitGate};
use chatkeep_http::{
    BrowserSessions, Identification, LargeResponses, PublicUrl, identify, run_to_completion, served,
};
use chatkeep_ingress::{Ingress, IngressBot, IngressBots};
use chatkeep_workers::supervisor::Supervisor;
use futures_util::FutureExt as _;

use super::{App, ProcessRole};
use crate::login::Login;
use crate::oauth::OAuth;
use crate::{login, oauth, ops};

impl App {
    /// Returns the routes of this process' roles.
    pub(super) fn surfaces(&self, supervisor: &Supervisor) -> anyhow::Result<Router> {
        let health = self.health.clone();
        let disk = vec![self.disk.ingress.clone(), self.disk.media.clone()];
        let roles = &self.process_roles.roles;
        let waiting = if roles.contains(&ProcessRole::Ingress) {
            ops::ReplicaWaiting::Never
        } else if roles.contains(&ProcessRole::Api) {
            ops::ReplicaWaiting::AtFirst
        } else {
            ops::ReplicaWaiting::Always
        };
        let replica = self.replica.clone();
        let search = replica.map(|replica| ops::SearchReadiness::new(replica, waiting));
        let (bus, store) = (self.bus.clone(), self.store.clone());
        let mut router = ops::router(ops::Ready { bus, store, health, disk, search });
        if roles.contains(&ProcessRole::Ingress) {
            router = router.merge(self.ingress()?);
        }
        if roles.contains(&ProcessRole::Api) {
            let (callers, console) = self.callers(supervisor)?;
            // Around all of them: a path that nobody knows has its page, too.
            router = router
                .merge(callers)
                .layer(from_fn_with_state(console, chatkeep_console::refusals));
        }
        Ok(router)
    }

    /// Returns the surfaces for people, programs and models, and what the console shows with.
    fn callers(&self, supervisor: &Supervisor) -> anyhow::Result<(Router, Console)> {
        let (config, services) = (&self.config, &self.services);
        let origins = &config.api.cors_origins;
        let sessions = self.browser_sessions()?;
        let url = sessions.url().clone();
        let login = {
            let (secret, clock) = (self.secrets.login().cloned(), Arc::clone(&self.clock));
            Login::new(&config.login, secret, sessions.clone(), clock)?
        };
        let has_login = login.is_set_up();
        let console = self.console(&sessions, &login);
        let large = LargeResponses::default();
        let keys = services.idempotency.clone();
        let idempotency = Idempotency { keys, sessions: sessions.clone() };
        let state = Api { services: services.clone(), large: large.clone(), url: url.clone() };
        let mut router = chatkeep_api::router(state, idempotency)
            .merge(login::router(login))
            .merge(chatkeep_mcp::router(services.clone(), &url, has_login, origins))
            .merge(chatkeep_console::router(console.clone()));
        if has_login {
            router = router.merge(oauth::router(self.oauth(&sessions)?));
        }
        let identification = Arc::new(self.identification(sessions, supervisor));
        let known = router
            .layer(from_fn_with_state(identification, identify))
            .layer(from_fn_with_state(supervisor.tasks().clone(), run_to_completion));
        let router = known.merge(chatkeep_api::docs()).merge(chatkeep_console::assets());
        Ok((served(router, large, origins), console))
    }

    /// Returns the sessions of browsers at this deployment.
    ///
    /// # Errors
    /// Returns an error if the address of this service is invalid.
    pub(crate) fn browser_sessions(&self) -> anyhow::Result<BrowserSessions> {
        let url = PublicUrl::new(self.config.api.base_url.as_deref(), self.config.listen)?;
        Ok(BrowserSessions::new(self.services.sessions.clone(), url))
    }

    fn console(&self, sessions: &BrowserSessions, login: &Login) -> Console {
        let offer = if login.is_line() { SignInOffer::Line } else { SignInOffer::Other };
        Console {
            services: self.services.clone(),
            sessions: sessions.clone(),
            sign_in: login.is_set_up().then_some(offer),
            mcp: chatkeep_mcp::resource(sessions.url()).into(),
            clock: Arc::clone(&self.clock),
            entrances: self.entrances,
        }
    }

    fn identification(&self, sessions: BrowserSessions, supervisor: &Supervisor) -> Identification {
        let (config, credentials) = (&self.config, self.services.credentials.clone());
        let gate = RateLimitGate::new(config.rate_limit, &self.bus, &self.clock, supervisor);
        let is_file =
            |path: &str| chatkeep_console::is_file(path) || chatkeep_api::is_media_file(path);
        let over_limit = |request, seconds| chatkeep_mcp::over_limit(request, seconds).boxed();
        let proxies = config.api.proxies;
        Identification { credentials, sessions, gate, is_file, over_limit, proxies }
    }

    fn oauth(&self, sessions: &BrowserSessions) -> anyhow::Result<OAuth> {
        let http = GuardedClient::new(self.config.login.allow_private_clients)?;
        let (services, clock) = (self.services.clone(), Arc::clone(&self.clock));
        let resource = chatkeep_mcp::resource(sessions.url());
        Ok(OAuth::new(sessions.clone(), services, clock, resource, http))
    }

    /// Returns the surface for the platform's webhooks.
    fn ingress(&self) -> anyhow::Result<Router> {
        let bots: Option<Vec<_>> =
            self.config.line.iter().map(|bot| self.ingress_bot(bot)).collect();
        let ingress = Ingress {
            bus: self.bus.clone(),
            bots: IngressBots::new(bots.context("no channel secret")?),
            clock: Arc::clone(&self.clock),
            tap: self.tap.clone(),
            rejected: self.rejected(),
            proxies: self.config.api.proxies,
            disk: self.disk.ingress.clone(),
        };
        Ok(chatkeep_ingress::router(ingress, self.config.ingress.max_body_bytes))
    }

    fn ingress_bot(&self, bot: &LineConfig) -> Option<IngressBot> {
        let webhooks = self.secrets.bot(&bot.name)?.webhooks.clone()?;
        let directory = self.bots.get(&bot.name).ok().cloned();
        Some(IngressBot::new(&bot.name, Arc::new(webhooks), directory, self.health.clone()))
    }

    /// Creates the rate limit of rejected webhooks by address. Each process has its own: a wrong
    /// signature costs only the process that checks it.
    fn rejected(&self) -> Limiter {
        let per_minute = self.config.ingress.rejected_per_minute;
        let config = RateLimitConfig { per_minute, burst: per_minute };
        Limiter::alone(config, Arc::clone(&self.clock))
    }
}
