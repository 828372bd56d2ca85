//! Contract tests of the bus: every case runs on the embedded bus, on the oldest nats-server that is
//! supported and on the one that `deploy/` names; features of one adapter alone are tested separately.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::disallowed_methods, reason = "tests join what they spawn")]

mod dead;
mod delivery;
mod durability;
mod embedded_only;
mod fixture;
mod full;
mod load;
mod nats_cluster;
mod nats_only;
mod nats_server;
mod pubsub;

/// Runs each case on both adapters, and on two versions of NATS.
macro_rules! contract {
    ($($room:ident :: $case:ident),+ $(,)?) => {
        mod embedded {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    crate::$room::$case(crate::fixture::Fixture::embedded()).await;
                }
            )+
        }
        mod nats {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    crate::$room::$case(crate::fixture::Fixture::nats().await).await;
                }
            )+
        }
        mod nats_current {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    crate::$room::$case(crate::fixture::Fixture::nats_current().await).await;
                }
            )+
        }
    };
}

contract! {
    delivery::delivers_what_was_published,
    delivery::keeps_the_order_of_publishing,
    delivery::leases_long_messages_by_their_size,
    delivery::waits_for_the_first_message,
    delivery::shows_events_to_every_consumer,
    delivery::gives_a_job_to_its_queue_alone,
    delivery::shares_messages_between_members,
    delivery::delivers_again_when_the_lease_runs_out,
    delivery::extends_the_lease_on_progress,
    delivery::waits_before_a_retry,
    delivery::leases_no_more_than_allowed,
    delivery::loses_nothing_when_a_fetch_is_given_up,
    delivery::refuses_subjects_that_nobody_reads,
    delivery::counts_what_is_not_finished,
    durability::drops_a_second_message_with_the_same_id,
    durability::drops_duplicates_published_at_once,
    durability::forgets_ids_after_the_window,
    durability::keeps_messages_and_ids_over_a_restart,
    durability::keeps_acknowledgements_over_a_restart,
    durability::keeps_retries_over_a_restart,
    durability::refuses_when_full_and_recovers,
    durability::makes_room_when_a_consumer_is_removed,
    durability::keeps_messages_for_a_consumer_that_is_away,
    dead::keeps_what_was_buried,
    dead::retries_a_dead_letter_for_its_consumer_alone,
    dead::retries_a_dead_job,
    dead::drops_a_dead_letter,
    dead::buries_again_what_fails_again,
    load::delivers_each_of_many_once,
    pubsub::tells_everyone_who_listens,
    pubsub::has_each_request_answered_once,
    pubsub::says_when_nobody_answers_or_too_late,
    pubsub::asks_all_servers,
    pubsub::bounds_what_is_answered_at_once,
    pubsub::a_panic_is_a_refusal_of_one_request,
    pubsub::refuses_what_is_too_large,
}
