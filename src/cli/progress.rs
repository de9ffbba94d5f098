//! Progress of a run, on one line of standard error.
//!
//! **Invariant:** a run that is quick shows nothing, and nothing is left on the screen when a run ends.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How long a run may last before it shows progress.
const PATIENCE: Duration = Duration::from_millis(500);

/// How often progress is drawn a second.
const RATE: u8 = 10;

/// Shows how many files of how many are done.
pub(super) struct ProgressLine {
    started: Instant,
    is_enabled: bool,
    bar: OnceLock<ProgressBar>,
}

impl ProgressLine {
    pub(super) fn new(is_enabled: bool) -> Self {
        Self { started: Instant::now(), is_enabled, bar: OnceLock::new() }
    }

    pub(super) fn update(&self, done: usize, total: usize) {
        if !self.is_enabled || self.started.elapsed() < PATIENCE {
            return;
        }
        let bar = self.bar.get_or_init(bar);
        let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        bar.set_length(count(total));
        bar.set_position(count(done));
    }

    pub(super) fn clear(&self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
    }
}

fn bar() -> ProgressBar {
    let template = ProgressStyle::with_template("Checking {pos} of {len} files {wide_bar} {elapsed}");
    let style = template.unwrap_or_else(|_| ProgressStyle::default_bar());
    let target = ProgressDrawTarget::stderr_with_hz(RATE);
    ProgressBar::with_draw_target(None, target).with_style(style)
}
