//! Table of the borders: the modules and crates that each may use. A new module gets a place in
//! [`LAYERS`], a new crate one in [`CRATES`].
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
        modules: &[
            "disk",
            "heavy",
            "html",
            "mcp_clients",
            "out",
            "private",
            "pseudonyms",
            "random",
            "sanitize",
            "view",
            "when",
        ],
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
            "saved_searches",
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
        name: "http",
        modules: &["http"],
        may_use: &["base", "services", "connections"],
        why: "what HTTP surfaces share knows none of them",
    },
    Layer {
        name: "edges",
        modules: &["api", "console", "ingress", "login", "mcp", "oauth", "ops"],
        may_use: &["base", "services", "connections", "http"],
        why: "an edge translates for services and knows no other edge; what two edges need belongs \
              into a service, or into `http`",
    },
    Layer {
        name: "assembly",
        modules: &["app"],
        may_use: &["base", "services", "connections", "http", "edges"],
        why: "a process is put together from its parts and does not know who starts it",
    },
    Layer {
        name: "commands",
        modules: &["cli", "demo"],
        may_use: &["base", "services", "connections", "http", "edges", "assembly"],
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

/// Exceptions from [`LAYERS`].
pub(super) const EXCEPTIONS: &[Exception] = &[
    exception("cli", "demo", "it is one of the commands"),
    exception("demo", "cli::on_signal", "it ends by the same signals as every command"),
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
        users: &["connections", "http", "edges", "assembly", "commands"],
        why: "HTTP ends at the edges",
    },
    Library {
        crates: &["age"],
        users: &["services"],
        why: "encryption of snapshots is a matter of their service",
    },
    Library { crates: &["rmcp"], users: &["mcp"], why: "MCP ends at its edge" },
    Library {
        crates: &["askama"],
        users: &["console", "demo", "html", "oauth", "transfer"],
        why: "pages are written in few places",
    },
    Library { crates: &["openidconnect"], users: &["login"], why: "sign-in is in one place" },
    Library { crates: &["clap"], users: &["commands"], why: "arguments end at the commands" },
    Library {
        crates: &["utoipa", "utoipa_swagger_ui"],
        users: &["api", "http", "view", "when"],
        why: "the OpenAPI document describes DTOs and is written by the API",
    },
    Library {
        crates: &["chatkeep_emulator"],
        users: &["demo"],
        why: "the service must not know that its platform is emulated",
    },
];

/// Libraries of one crate of the workspace: others do not depend on them.
pub(super) const OWN_LIBRARIES: &[(&str, &[&str], &str)] = &[(
    "chatkeep",
    &["clap", "rmcp", "utoipa", "utoipa-config", "utoipa-swagger-ui"],
    "what is shown is a matter of the edges: the domain, its ports and the stages know no surface",
)];

/// Functions that only some modules may call.
pub(super) struct Privilege {
    /// Last segments of its path.
    pub(super) path: [&'static str; 2],
    pub(super) callers: &'static [&'static str],
    pub(super) why: &'static str,
}

/// Functions of the program with a border of their own.
pub(super) const PRIVILEGES: &[Privilege] = &[Privilege {
    path: ["Operator", "at_command_line"],
    callers: &["cli::context", "demo::key", "demo::sample", "services::tests"],
    why: "requests have callers, whose permissions count",
}];

/// Handles on what is stored and sent, by their names.
pub(super) const HANDLES: [&str; 3] = ["Blobs", "Bus", "Store"];

/// Methods of a store that everybody may call: they reach no data.
pub(super) const STORE_METHODS: [&str; 2] = ["clone", "close"];

/// Modules above the services that may name a handle and use a store, each with its reason.
pub(super) const HANDLE_USERS: &[(&str, &str)] = &[
    ("app", "it opens them"),
    ("cli::context", "commands open them, too"),
    ("cli::doctor", "it compares what is in each of them"),
    ("demo", "it stores sample histories, and looks whether what the emulator sent is stored"),
    ("ingress", "it publishes events and knows no use case"),
    ("ops", "it asks whether they can be reached"),
];

/// Crates of the workspace, and which of them each may use.
pub(super) const CRATES: &[(&str, &[&str])] = &[
    ("chatkeep-blobs", &["chatkeep-core"]),
    ("chatkeep-bus", &["chatkeep-core"]),
    ("chatkeep-core", &[]),
    ("chatkeep-platform", &["chatkeep-core"]),
    ("chatkeep-store", &["chatkeep-core"]),
    ("chatkeep-emulator", &[]),
    ("chatkeep-i18n", &[]),
    ("chatkeep-index", &[]),
    (
        "chatkeep-workers",
        &[
            "chatkeep-blobs",
            "chatkeep-bus",
            "chatkeep-core",
            "chatkeep-i18n",
            "chatkeep-index",
            "chatkeep-platform",
            "chatkeep-store",
        ],
    ),
    (
        "chatkeep",
        &[
            "chatkeep-blobs",
            "chatkeep-bus",
            "chatkeep-core",
            "chatkeep-emulator",
            "chatkeep-i18n",
            "chatkeep-index",
            "chatkeep-platform",
            "chatkeep-store",
            "chatkeep-workers",
        ],
    ),
];

/// Crates of the workspace that others may use in their tests alone.
pub(super) const TEST_CRATES: &[(&str, &str)] = &[("chatkeep-workers", "chatkeep-emulator")];
