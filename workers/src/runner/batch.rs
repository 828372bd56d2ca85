//! Batches: messages of one call of a stage, with their leases.

use chatkeep_bus::Delivery;

/// Messages of one call: deliveries, and their decoded items, in the same order.
#[derive(Debug)]
pub(super) struct Batch<T> {
    pub(super) deliveries: Vec<Delivery>,
    pub(super) items: Vec<T>,
}

impl<T> Batch<T> {
    /// Creates an empty batch.
    pub(super) const fn new() -> Self {
        Self { deliveries: Vec::new(), items: Vec::new() }
    }

    pub(super) fn push(&mut self, delivery: Delivery, item: T) {
        self.deliveries.push(delivery);
        self.items.push(item);
    }

    pub(super) const fn len(&self) -> usize {
        self.deliveries.len()
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.deliveries.is_empty()
    }

    /// Splits into both halves, without an empty one; a single message is returned itself.
    pub(super) fn halves(mut self) -> impl Iterator<Item = Self> {
        let half = self.len() / 2;
        let first = Self {
            deliveries: self.deliveries.drain(..half).collect(),
            items: self.items.drain(..half).collect(),
        };
        [first, self].into_iter().filter(|part| !part.is_empty())
    }

    pub(super) fn into_pairs(self) -> impl Iterator<Item = (Delivery, T)> {
        self.deliveries.into_iter().zip(self.items)
    }

    /// Extends every lease. One that cannot be extended expires, and its message is redelivered.
    pub(super) async fn extend(&self) {
        for delivery in &self.deliveries {
            let _ = delivery.progress().await;
        }
    }
}

impl<T> From<Vec<(Delivery, T)>> for Batch<T> {
    fn from(pairs: Vec<(Delivery, T)>) -> Self {
        let (deliveries, items) = pairs.into_iter().unzip();
        Self { deliveries, items }
    }
}
