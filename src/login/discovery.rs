//! Discovery of the identity provider: fetched on first use, cached for an hour, refreshed when its
//! keys change. A provider that is down affects logins only.

use std::sync::Arc;
use std::time::Duration;

use chatkeep_core::causes::with_causes;
use chatkeep_core::config::LoginConfig;
use chatkeep_core::http::bounded_body;
use chatkeep_core::outage::{Availability, Work};
use chatkeep_core::secret::SharedSecret;
use chatkeep_core::time::{SharedClock, Timestamp};
use openidconnect::core::{
    CoreClient, CoreClientAuthMethod, CoreJwsSigningAlgorithm, CoreProviderMetadata,
};
use openidconnect::{
    AuthType, ClientId, ClientSecret, DiscoveryError, EndpointMaybeSet, EndpointNotSet,
    EndpointSet, HttpRequest, HttpResponse, IssuerUrl, RedirectUrl,
};
use secrecy::ExposeSecret as _;
use tokio::sync::Mutex;
use tracing::debug;

use super::error::LoginError;

/// Maximum age of the provider's metadata before a refresh.
const FRESH: Duration = Duration::from_hours(1);
/// Pause after a failed request to the provider.
const RETRY_PAUSE: Duration = Duration::from_secs(2);
/// Issuer of LINE, which accepts the client secret in the body only, and does not announce that.
pub(super) const LINE: &str = "https://access.line.me";

/// Client of the library, once the provider is known.
pub(super) type Client = CoreClient<
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointMaybeSet,
    EndpointMaybeSet,
>;

/// Access to the provider's metadata.
#[derive(Debug)]
pub(super) struct Discovery {
    pub(super) issuer: String,
    client_id: ClientId,
    client_secret: Option<SharedSecret>,
    redirect: RedirectUrl,
    pub(super) http: reqwest::Client,
    clock: SharedClock,
    known: Mutex<CachedProvider>,
    pub(super) available: Availability,
}

/// Metadata of the provider.
#[derive(Debug, Default)]
struct CachedProvider {
    client: Option<(Arc<Client>, Timestamp)>,
    /// Version of the client secret that the client has.
    secret: u64,
    failed_at: Option<Timestamp>,
}

impl Discovery {
    /// Creates it for the configured provider; `None` when there is none.
    ///
    /// # Errors
    /// Returns an error if the callback address is invalid or TLS cannot be set up.
    pub(super) fn new(
        config: &LoginConfig,
        client_secret: Option<SharedSecret>,
        callback: &str,
        clock: SharedClock,
    ) -> anyhow::Result<Option<Self>> {
        let Some(issuer) = config.issuer.clone() else {
            return Ok(None);
        };
        let available = Availability::new("identity provider", issuer.as_str(), "login.issuer");
        Ok(Some(Self {
            issuer,
            client_id: ClientId::new(config.client_id.clone()),
            client_secret,
            redirect: RedirectUrl::new(callback.to_owned())?,
            // A code is redeemed once.
            http: chatkeep_core::http::unpooled_client()?,
            clock,
            known: Mutex::default(),
            available,
        }))
    }

    /// Returns the provider's client and the time of its metadata; refreshed when it is old or not
    /// newer than `than`.
    pub(super) async fn client(
        &self,
        than: Option<Timestamp>,
    ) -> Result<(Arc<Client>, Timestamp), LoginError> {
        let mut known = self.known.lock().await;
        let now = self.clock.now();
        let secret = self.client_secret.as_ref().map_or(0, SharedSecret::version);
        if let Some((client, since)) = &known.client
            && known.secret == secret
            && recent(*since, now, FRESH)
            && than != Some(*since)
        {
            return Ok((Arc::clone(client), *since));
        }
        if known.failed_at.is_some_and(|at| recent(at, now, RETRY_PAUSE)) {
            return Err(LoginError::Unavailable);
        }
        match self.discover().await {
            Ok(metadata) => {
                debug!(issuer = self.issuer, "the identity provider was discovered");
                self.available.works(Work::Reading);
                let client = Arc::new(self.build(metadata));
                let kept = Some((Arc::clone(&client), now));
                *known = CachedProvider { client: kept, secret, failed_at: None };
                Ok((client, now))
            }
            Err(cause) => {
                self.available.fails(Work::Reading, &with_causes(&cause));
                known.failed_at = Some(self.clock.now());
                Err(LoginError::Unavailable)
            }
        }
    }

    async fn discover(&self) -> Result<CoreProviderMetadata, DiscoveryError<reqwest::Error>> {
        let http = |request| fetch(self.http.clone(), request);
        let issuer = |text| IssuerUrl::new(text).map_err(DiscoveryError::UrlParse);
        let found = CoreProviderMetadata::discover_async(issuer(self.issuer.clone())?, &http).await;
        match found {
            // Settings have no slash at the end; some issuers do.
            Err(DiscoveryError::Validation(_)) => {
                let issuer = issuer(format!("{}/", self.issuer))?;
                CoreProviderMetadata::discover_async(issuer, &http).await
            }
            found => found,
        }
    }

    fn build(&self, metadata: CoreProviderMetadata) -> Client {
        let secret = self.client_secret.as_ref();
        let secret =
            secret.map(|secret| ClientSecret::new(secret.get().expose_secret().to_owned()));
        let mut algorithms = metadata.id_token_signing_alg_values_supported().clone();
        if secret.is_some() {
            // LINE announces ES256 and signs the tokens of most channels with the channel secret.
            algorithms.push(CoreJwsSigningAlgorithm::HmacSha256);
        }
        let auth_type = self.auth_type(&metadata);
        let metadata = metadata.set_id_token_signing_alg_values_supported(algorithms);
        CoreClient::from_provider_metadata(metadata, self.client_id.clone(), secret)
            .set_redirect_uri(self.redirect.clone())
            .set_auth_type(auth_type)
    }

    /// Returns the client authentication method that the provider announces, else the standard's
    /// default.
    fn auth_type(&self, metadata: &CoreProviderMetadata) -> AuthType {
        use CoreClientAuthMethod::{ClientSecretBasic, ClientSecretPost};
        let in_body = match metadata.token_endpoint_auth_methods_supported() {
            Some(methods) => {
                methods.contains(&ClientSecretPost) && !methods.contains(&ClientSecretBasic)
            }
            None => self.issuer == LINE,
        };
        if in_body { AuthType::RequestBody } else { AuthType::BasicAuth }
    }
}

fn recent(at: Timestamp, now: Timestamp, age: Duration) -> bool {
    at <= now && now.since(at) < age
}

/// Sends one HTTP request for the library. A provider that fails (5xx) is away, whatever it says: what
/// the library makes of its answer would be the fault of who signs in.
pub(super) async fn fetch(
    http: reqwest::Client,
    request: HttpRequest,
) -> Result<HttpResponse, reqwest::Error> {
    let answer = http.execute(request.try_into()?).await?;
    let has_failed = answer.status().is_server_error();
    let answer = if has_failed { answer.error_for_status()? } else { answer };
    let (status, headers) = (answer.status(), answer.headers().clone());
    let mut response = HttpResponse::new(bounded_body(answer).await?);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    Ok(response)
}
