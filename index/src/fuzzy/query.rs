//! Lookup of the phrases that share the most with a message.

use super::features::Feature;
use super::phrases::Phrases;

/// Maximum number of postings of a message's features that are read: those of the rarest first. The
/// frequent rest says little about which rules to compare, and is counted once they are known.
const POSTINGS: usize = 8_000;

/// Weight that every message is assumed to have beyond all phrases: one shared word of a message of
/// two counts less than ten of twenty.
const HASTE: f32 = 0.7;

/// A feature of a message that phrases have.
#[derive(Clone, Copy, Debug)]
pub(super) struct SharedFeature {
    id: u32,
    /// Square of its weight: the share of a message and a phrase that both have it.
    product: f32,
}

/// A message as a vector.
#[derive(Debug, Default)]
pub(super) struct MessageVector {
    /// Features that phrases have, by id.
    pub(super) shared: Vec<SharedFeature>,
    /// Length of the vector, unknown features included.
    pub(super) norm: f32,
}

impl Phrases {
    /// Returns the vector of a message's features.
    pub(super) fn query(&self, features: &[Feature]) -> MessageVector {
        let mut query = MessageVector::default();
        let mut squares = 0.0;
        for feature in features {
            match self.ids.get(&feature.hash) {
                Some(&id) => {
                    let product = self.weights[id as usize].powi(2);
                    squares += product;
                    query.shared.push(SharedFeature { id, product });
                }
                None => squares += (feature.weight * self.unknown).powi(2),
            }
        }
        query.norm = (squares + HASTE * self.unknown.powi(2)).sqrt();
        query
    }

    /// Returns the phrases with the most of the message's rare features, the best first.
    pub(super) fn candidates(&self, query: &MessageVector, most: usize) -> Vec<u32> {
        let postings = |feature: &SharedFeature| {
            let id = feature.id as usize;
            self.starts[id] as usize..self.starts[id + 1] as usize
        };
        let mut shared = query.shared.clone();
        shared.sort_unstable_by_key(|feature| postings(feature).len());
        let mut scores = vec![0.0_f32; self.rules.len()];
        let mut touched = Vec::new();
        let mut walked = 0;
        for feature in &shared {
            let range = postings(feature);
            walked += range.len();
            if walked > POSTINGS && !touched.is_empty() {
                break;
            }
            for &phrase in &self.postings[range] {
                let score = &mut scores[phrase as usize];
                if *score == 0.0 {
                    touched.push(phrase);
                }
                *score += feature.product;
            }
        }
        self.best(&touched, &scores, most)
    }

    /// Returns the `most` best of the touched phrases, the best first; of equal score the older
    /// first.
    fn best(&self, touched: &[u32], scores: &[f32], most: usize) -> Vec<u32> {
        let score = |&phrase: &u32| {
            let at = phrase as usize;
            (scores[at] / self.norms[at], phrase)
        };
        let mut best: Vec<(f32, u32)> = touched.iter().map(score).collect();
        let order = |a: &(f32, u32), b: &(f32, u32)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
        if best.len() > most {
            best.select_nth_unstable_by(most, order);
            best.truncate(most);
        }
        best.sort_unstable_by(order);
        best.into_iter().map(|(_, phrase)| phrase).collect()
    }

    /// Returns the similarity of `query` and a phrase: the sum of squared weights.
    pub(super) fn shared(&self, members: &Members, phrase: u32) -> f32 {
        let features = &self.phrase_features[self.features(phrase)];
        let shared = features.iter().filter(|&&id| members.has(id));
        shared.map(|&id| self.weights[id as usize].powi(2)).sum()
    }

    /// Returns the set of a message's features.
    pub(super) fn members(&self, query: &MessageVector) -> Members {
        let mut bits = vec![0_u64; self.weights.len() / 64 + 1];
        for feature in &query.shared {
            bits[feature.id as usize / 64] |= 1 << (feature.id % 64);
        }
        Members { bits }
    }
}

/// The features of a message, as a set.
#[derive(Debug)]
pub(super) struct Members {
    bits: Vec<u64>,
}

impl Members {
    #[inline]
    fn has(&self, id: u32) -> bool {
        self.bits[id as usize / 64] >> (id % 64) & 1 != 0
    }
}
