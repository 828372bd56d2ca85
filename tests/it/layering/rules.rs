//! Table of the borders: the modules and crates that each may use. A new module gets a place in [`LAYERS`], a new crate one in [`CRATES`].
//!
//! The rules are as narrow as what the code needs: an exception that nothing needs any more is an
//! error, so that nobody takes it up again.

/// Modules of the program that follow the same rule.
pub(super) struct Layer {
    pub(super) name: &'static str,
    /// Modules right below the crate `chatkeep`.
    pub(super) modules: &'static [&'static str],
    /// Names of the layers whose modules they may use.
    pub(super) may_use: &'static [&'static str],
    /// Reason for no more than that.
    pub(super) why: &'static str,
}

/// Layers of `src/`, lowest first.
pub(super) const LAYERS: &[Layer] = &[
    Layer {
        name: "base",
        modules: &["heavy", "out", "private", "random", "view", "when"],
        may_use: &["base"],
        why: "helpers and DTOs know nothing of the program",
    },
    Layer {
        name: "services",
        modules: &[
            "decode",
            "doctor",
            "event_renderer",
            "maintenance",
            "orphan_sweep",
            "removals",
            "retention",
            "search",
            "services",
            "transfer",
        ],
        may_use: &["base", "services"],
        why: "services know no edge: use cases and periodic work are the same for all of them",
    },
    Layer {
        name: "connections",
        modules: &["rate_limit", "server"],
        may_use: &["base", "connections"],
        why: "connections and rate limits do not know what they serve",
    },
    Layer {
        name: "edges",
        modules: &["api", "console", "ingress", "login", "mcp", "oauth", "ops"],
        may_use: &["base", "services", "connections"],
        why: "an edge translates for services; what two edges need belongs into a service",
    },
    Layer {
        name: "assembly",
        modules: &["app"],
        may_use: &["base", "services", "connections", "edges"],
        why: "a process is put together from its parts and does not know who starts it",
    },
    Layer {
        name: "commands",
        modules: &["cli", "demo"],
        may_use: &["base", "services", "connections", "edges", "assembly"],
        why: "nobody uses a command",
    },
];

/// Use that the layers forbid.
pub(super) struct Exception {
    /// Module that uses it.
    pub(super) module: &'static str,
    /// Path that it may use, with all that is below it.
    pub(super) path: &'static str,
    pub(super) why: &'static str,
}

const fn exception(module: &'static str, path: &'static str, why: &'static str) -> Exception {
    Exception { module, path, why }
}

const ERROR: &str = "all HTTP errors have one form, which is the API's";
const MOUNT: &str = "one router, which is the API's, mounts every surface";

/// Exceptions from [`LAYERS`].
pub(super) const EXCEPTIONS: &[Exception] = &[
    exception("api", "console", MOUNT),
    exception("api", "login", MOUNT),
    exception("api", "mcp", MOUNT),
    exception("api", "oauth", MOUNT),
    exception("cli", "demo", "it is one of the commands"),
    exception("console", "login", "people sign in and out there"),
    exception("demo", "cli::on_signal", "it ends by the same signals as every command"),
    exception("doctor", "app::running", "it asks every registered process for its replica"),
    exception("ingress", "api::ApiError", ERROR),
    exception("login", "api::ApiError", ERROR),
    exception("login", "api::extract::Query", "query strings are read in one way"),
    exception("mcp", "api::Api", "its router is mounted with the state of the API"),
    exception("mcp", "api::ApiError", ERROR),
    exception("mcp", "api::RequestId", ERROR),
    exception("mcp", "api::takes_json", ERROR),
    exception("mcp", "oauth::SCOPES", "a protected resource names the scopes of its tokens"),
    exception("oauth", "api::ApiError", ERROR),
    exception("oauth", "login", "people consent in the session of their sign-in"),
    exception("oauth", "mcp", "access tokens are for the MCP server alone"),
    exception("ops", "api::ApiError", ERROR),
];

/// Libraries that only some may name.
pub(super) struct Library {
    pub(super) crates: &'static [&'static str],
    /// Layers and modules that may name them.
    pub(super) users: &'static [&'static str],
    pub(super) why: &'static str,
}

/// Libraries of the program with a border of their own.
pub(super) const LIBRARIES: &[Library] = &[
    Library {
        crates: &["axum", "cookie", "http", "hyper", "hyper_util", "tower", "tower_http"],
        users: &["connections", "edges", "assembly", "commands"],
        why: "HTTP ends at the edges",
    },
    Library { crates: &["rmcp"], users: &["mcp"], why: "MCP ends at its edge" },
    Library { crates: &["askama"], users: &["console"], why: "pages are the console's" },
    Library { crates: &["openidconnect"], users: &["login"], why: "sign-in is in one place" },
    Library { crates: &["clap"], users: &["commands"], why: "arguments end at the commands" },
    Library {
        crates: &["chatkeep_emulator"],
        users: &["demo"],
        why: "the service must not know that its platform is emulated",
    },
];

/// Crates of the workspace, and which of them each may use, in tests as well.
pub(super) const CRATES: &[(&str, &[&str])] = &[
    ("chatkeep-blobs", &["chatkeep-core"]),
    ("chatkeep-bus", &["chatkeep-core"]),
    ("chatkeep-core", &[]),
    ("chatkeep-platform", &["chatkeep-core"]),
    ("chatkeep-store", &["chatkeep-core"]),
    ("chatkeep-emulator", &[]),
    ("chatkeep-i18n", &[]),
    ("chatkeep-index", &[]),
    ("chatkeep-workers", &["chatkeep-core", "chatkeep-i18n", "chatkeep-index"]),
    (
        "chatkeep",
        &[
            "chatkeep-core",
            "chatkeep-emulator",
            "chatkeep-i18n",
            "chatkeep-index",
            "chatkeep-workers",
        ],
    ),
];
