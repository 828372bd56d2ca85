//! Bounds: the limits of a credential or webhook, and the one check against them.
//!
//! A key, a session, an access token and a webhook each have [`Bounds`]. Everything that is shown,
//! by REST, MCP, a webhook or the pull feed, is described by a [`Subject`] and passes
//! [`Bounds::admit`] first. Membership in a channel is checked in the store beside this; bounds
//! only ever narrow what the person may do.

use std::collections::HashSet;

use crate::id::ChannelId;
use crate::pseudonym::PseudonymKey;
use crate::role::Scope;
use crate::time::Timestamp;

/// Limits of what a credential, or a webhook that was created with it, may be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Scopes that are granted.
    pub scopes: Vec<Scope>,
    /// Visible channels; `None` for every channel of its user.
    pub channels: Option<Vec<ChannelId>>,
    /// Lower bound of visible times: nothing sent before may be read.
    pub not_before: Option<Timestamp>,
    /// Expiry; `None` for never.
    pub expires_at: Option<Timestamp>,
    /// Secret of the stand-ins that are shown for people; `None` where people are shown as they are.
    pub pseudonyms: Option<PseudonymKey>,
}

/// Something that is about to be shown to a caller.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    scope: Option<Scope>,
    place: SubjectScope<'a>,
    at: Option<Timestamp>,
}

/// Owner of a subject.
#[derive(Clone, Copy, Debug)]
enum SubjectScope<'a> {
    /// One channel.
    Channel(&'a ChannelId),
    /// The user's account with all of its channels together.
    Account,
    /// The credential itself.
    Itself,
}

/// Limit that a subject is beyond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundExceeded {
    /// The bounds have expired.
    End,
    /// The scope is not granted.
    Scope,
    /// The channel, or the account as a whole, is not visible.
    Channel,
    /// The subject is older than the lower bound of visible times.
    Time,
}

impl<'a> Subject<'a> {
    /// Returns a subject of a channel that needs `scope`; `None` when any credential may see it.
    pub const fn of_channel(channel: &'a ChannelId, scope: Option<Scope>) -> Self {
        Self { scope, place: SubjectScope::Channel(channel), at: None }
    }

    /// Returns a subject about the account with all of its channels together.
    pub const fn of_account(scope: Option<Scope>) -> Self {
        Self { scope, place: SubjectScope::Account, at: None }
    }

    /// Returns a subject about the credential or webhook itself.
    pub const fn of_itself(scope: Option<Scope>) -> Self {
        Self { scope, place: SubjectScope::Itself, at: None }
    }

    /// Sets the time of the subject: when a message was sent, or when an event happened.
    #[must_use]
    pub const fn at(self, at: Timestamp) -> Self {
        Self { at: Some(at), ..self }
    }
}

impl Bounds {
    /// Returns the bounds of a person acting directly: none.
    pub fn full() -> Self {
        Self {
            scopes: Scope::ALL.to_vec(),
            channels: None,
            not_before: None,
            expires_at: None,
            pseudonyms: None,
        }
    }

    /// Checks whether the subject may be shown now: the one function for every surface.
    ///
    /// # Errors
    /// Returns the first limit that the subject is beyond.
    pub fn admit(&self, subject: &Subject<'_>, now: Timestamp) -> Result<(), BoundExceeded> {
        if self.ended(now) {
            return Err(BoundExceeded::End);
        }
        if subject.scope.is_some_and(|scope| !self.has(scope)) {
            return Err(BoundExceeded::Scope);
        }
        let seen = match subject.place {
            SubjectScope::Channel(channel) => self.sees(channel),
            SubjectScope::Account => self.channels.is_none(),
            SubjectScope::Itself => true,
        };
        if !seen {
            return Err(BoundExceeded::Channel);
        }
        if subject.at.is_some_and(|at| !self.reads(at)) {
            return Err(BoundExceeded::Time);
        }
        Ok(())
    }

    /// Returns whether the scope is granted.
    pub fn has(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope) && (self.pseudonyms.is_none() || scope.allows_pseudonyms())
    }

    /// Returns whether the channel is visible at all.
    pub fn sees(&self, channel: &ChannelId) -> bool {
        self.channels.as_ref().is_none_or(|only| only.contains(channel))
    }

    /// Returns whether all of these channels are visible; `None` stands for every channel of the
    /// user.
    pub fn sees_all(&self, channels: Option<&[ChannelId]>) -> bool {
        let Some(only) = &self.channels else { return true };
        let only: HashSet<_> = only.iter().collect();
        channels.is_some_and(|channels| channels.iter().all(|channel| only.contains(channel)))
    }

    /// Returns whether a message sent at `at` may be read.
    pub fn reads(&self, at: Timestamp) -> bool {
        self.not_before.is_none_or(|from| at >= from)
    }

    /// Returns whether the bounds have expired.
    pub fn ended(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|end| end <= now)
    }

    /// Returns whether these bounds are within `outer`: in scopes, channels, time and expiry.
    pub fn within(&self, outer: &Self) -> bool {
        let channels = match (&self.channels, &outer.channels) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(own), Some(only)) => own.iter().all(|channel| only.contains(channel)),
        };
        let ends = outer.expires_at.is_none_or(|end| self.expires_at.is_some_and(|own| own <= end));
        channels
            && ends
            && self.not_before >= outer.not_before
            && self.scopes.iter().all(|scope| !self.has(*scope) || outer.has(*scope))
            && outer.pseudonyms.as_ref().is_none_or(|key| self.pseudonyms.as_ref() == Some(key))
    }

    /// Returns the intersection of these bounds and `other`.
    #[must_use]
    pub fn narrowed(&self, other: &Self) -> Self {
        let scopes = self.scopes.iter().copied().filter(|scope| other.has(*scope));
        Self {
            scopes: scopes.collect(),
            channels: common(self.channels.as_deref(), other.channels.as_deref()),
            not_before: self.not_before.max(other.not_before),
            expires_at: self.expires_at.into_iter().chain(other.expires_at).min(),
            pseudonyms: self.pseudonyms.clone().or_else(|| other.pseudonyms.clone()),
        }
    }
}

/// Returns the channels that are in both lists, where `None` is every channel.
pub fn common(one: Option<&[ChannelId]>, other: Option<&[ChannelId]>) -> Option<Vec<ChannelId>> {
    match (one, other) {
        (None, only) | (only, None) => only.map(<[_]>::to_vec),
        (Some(one), Some(other)) => {
            Some(one.iter().filter(|channel| other.contains(channel)).cloned().collect())
        }
    }
}

#[cfg(test)]
#[path = "bounds_edge_tests.rs"]
mod edge_tests;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn bounds() -> impl Strategy<Value = Bounds> {
        let scopes = prop::sample::subsequence(Scope::ALL.to_vec(), 0..=Scope::ALL.len());
        let channels = prop::sample::subsequence(vec!["C1", "C2", "C3"], 0..=3);
        let channels =
            channels.prop_map(|ids| ids.into_iter().map(ChannelId::from).collect::<Vec<_>>());
        let time = || proptest::option::of((0_i64..5).prop_map(at));
        let pseudonyms = proptest::option::of(Just(PseudonymKey::new([7; 32])));
        (scopes, proptest::option::of(channels), time(), time(), pseudonyms).prop_map(
            |(scopes, channels, not_before, expires_at, pseudonyms)| Bounds {
                scopes,
                channels,
                not_before,
                expires_at,
                pseudonyms,
            },
        )
    }

    /// Checks every kind of subject that the bounds above can tell apart, at every time.
    fn admitted(bounds: &Bounds) -> Vec<bool> {
        let channels = ["C1", "C2", "C3", "C4"].map(ChannelId::from);
        let scopes: Vec<_> = Scope::ALL.into_iter().map(Some).chain([None]).collect();
        let mut all = Vec::new();
        for scope in scopes {
            let channels = channels.iter().map(|channel| Subject::of_channel(channel, scope));
            let subjects = channels.chain([Subject::of_account(scope), Subject::of_itself(scope)]);
            for subject in subjects {
                for (sent, now) in (0..6).flat_map(|sent| (0..6).map(move |now| (sent, now))) {
                    all.push(bounds.admit(&subject.at(at(sent)), at(now)).is_ok());
                }
            }
        }
        all
    }

    proptest! {
        #[test]
        fn narrowing_admits_what_both_admit(one in bounds(), other in bounds()) {
            let both: Vec<_> = admitted(&one)
                .into_iter()
                .zip(admitted(&other))
                .map(|(one, other)| one && other)
                .collect();
            let narrow = one.narrowed(&other);
            prop_assert_eq!(admitted(&narrow), both);
            prop_assert!(narrow.within(&one) && narrow.within(&other));
        }

        #[test]
        fn what_is_within_admits_nothing_more(one in bounds(), outer in bounds()) {
            if one.within(&outer) {
                let more = admitted(&one).into_iter().zip(admitted(&outer));
                prop_assert!(more.into_iter().all(|(inner, outer)| !inner || outer));
            }
            prop_assert!(one.within(&Bounds::full()) && one.within(&one));
        }
    }

    #[test]
    fn pseudonyms_are_kept_and_administer_nothing() {
        let (one, other) = ([1; 32], [2; 32]);
        let masked = |key| Bounds { pseudonyms: Some(PseudonymKey::new(key)), ..Bounds::full() };
        assert!(masked(one).within(&Bounds::full()) && !Bounds::full().within(&masked(one)));
        assert!(!masked(one).within(&masked(other)));
        assert_eq!(Bounds::full().narrowed(&masked(one)).pseudonyms, masked(one).pseudonyms);
        let has = |scope: &Scope| masked(one).has(*scope);
        let expected = [
            Scope::ReadMessages,
            Scope::ReadMedia,
            Scope::ReadMembers,
            Scope::ManageWebhooks,
            Scope::ManageKeys,
        ];
        assert_eq!(Scope::ALL.into_iter().filter(has).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn each_limit_is_told_apart() {
        let here = ChannelId::from("C1");
        let narrow = Bounds {
            scopes: vec![Scope::ReadMessages],
            channels: Some(vec![here.clone()]),
            not_before: Some(at(10)),
            expires_at: Some(at(20)),
            pseudonyms: None,
        };
        let read = Some(Scope::ReadMessages);
        let message = Subject::of_channel(&here, read).at(at(10));
        assert_eq!(narrow.admit(&message, at(19)), Ok(()));
        assert_eq!(narrow.admit(&message, at(20)), Err(BoundExceeded::End));
        assert_eq!(narrow.admit(&message.at(at(9)), at(19)), Err(BoundExceeded::Time));
        let members = Subject::of_channel(&here, Some(Scope::ReadMembers));
        assert_eq!(narrow.admit(&members, at(19)), Err(BoundExceeded::Scope));
        let elsewhere = ChannelId::from("C2");
        let elsewhere = Subject::of_channel(&elsewhere, read);
        assert_eq!(narrow.admit(&elsewhere, at(19)), Err(BoundExceeded::Channel));
        assert_eq!(narrow.admit(&Subject::of_account(None), at(19)), Err(BoundExceeded::Channel));
        assert_eq!(narrow.admit(&Subject::of_itself(None), at(19)), Ok(()));
    }
}
