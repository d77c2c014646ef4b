//! How many compilers may run at once.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// A limit that every compiler run takes part in. Clones share it.
#[derive(Clone)]
pub struct Jobs {
    shared: Arc<Shared>,
}

struct Shared {
    limit: usize,
    running: Mutex<usize>,
    freed: Condvar,
    cargo: Option<jobserver::Client>,
}

/// The right to run one compiler, until it is dropped.
pub struct Job<'a> {
    shared: &'a Shared,
    // Held for its Drop, which gives the token back to cargo.
    _token: Option<jobserver::Acquired>,
}

impl Jobs {
    /// At most `limit` at once, and at least one.
    pub fn new(limit: usize) -> Jobs {
        Jobs::with(limit, None)
    }

    /// As many as this machine has processors.
    pub fn of_machine() -> Jobs {
        Jobs::new(std::thread::available_parallelism().map_or(1, usize::from))
    }

    /// What cargo grants a build script: `NUM_JOBS` at most, and beyond the first only while the
    /// job server has a token to spare.
    pub fn of_cargo() -> Jobs {
        let limit = std::env::var("NUM_JOBS").ok().and_then(|n| n.parse().ok());
        // SAFETY: cargo opened these descriptors for this process, and a build script asks for
        // them first thing, before it opened any of its own.
        let cargo = unsafe { jobserver::Client::from_env() };
        Jobs::with(limit.unwrap_or(1), cargo)
    }

    fn with(limit: usize, cargo: Option<jobserver::Client>) -> Jobs {
        let (running, freed) = (Mutex::new(0), Condvar::new());
        Jobs {
            shared: Arc::new(Shared {
                limit: limit.max(1),
                running,
                freed,
                cargo,
            }),
        }
    }

    /// Waits for a place. The first is always free: cargo gives each build script one.
    pub fn acquire(&self) -> Job<'_> {
        // Another process may give a token back without telling us, so look again now and then.
        const LOOK_AGAIN: Duration = Duration::from_millis(50);
        let shared = &*self.shared;
        let mut running = shared
            .running
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        loop {
            let token = match &shared.cargo {
                _ if *running == 0 => Some(None),
                _ if *running >= shared.limit => None,
                None => Some(None),
                Some(cargo) => cargo.try_acquire().ok().flatten().map(Some),
            };
            if let Some(token) = token {
                *running += 1;
                return Job {
                    shared,
                    _token: token,
                };
            }
            let waited = shared.freed.wait_timeout(running, LOOK_AGAIN);
            running = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Job<'_> {
    fn drop(&mut self) {
        *self
            .shared
            .running
            .lock()
            .unwrap_or_else(PoisonError::into_inner) -= 1;
        self.shared.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn no_more_than_the_limit_run_at_once() {
        let jobs = Jobs::new(2);
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let _job = jobs.acquire();
                    most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    std::thread::sleep(Duration::from_millis(5));
                    now.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        assert_eq!(most.into_inner(), 2);
    }

    #[test]
    fn a_limit_of_none_still_runs_one() {
        let _job = Jobs::new(0).shared.limit;
        assert_eq!(Jobs::new(0).shared.limit, 1);
    }
}
