//! Tests of pools with one permit, or none by their rule, and of work that panics in them.

use super::*;
use crate::panics::catch;

#[tokio::test]
async fn a_machine_with_one_processor_still_does_the_work() {
    assert_eq!([0, 1, 2, 64].map(all_but_one), [0, 0, 1, 63]);
    let pool = BlockingPool::new(|_| 0);
    assert_eq!(pool.run(|| 5).await, 5);
    assert_eq!(pool.permits().available_permits(), 1);
}

#[tokio::test]
async fn work_that_panics_gives_its_permit_back() {
    let pool = BlockingPool::new(|_| 1);
    for _ in 0..2 {
        let failed = pool.try_run(|| "x".parse::<u32>().unwrap()).await;
        assert!(failed.unwrap_err().is_panic());
        let panicked = catch("test", pool.run(|| "x".parse::<u32>().unwrap())).await;
        assert!(panicked.is_err(), "the caller gets the panic as its own");
    }
    assert_eq!(pool.try_run(|| 7).await.unwrap(), 7);
    assert_eq!(pool.permits().available_permits(), 1);
}
