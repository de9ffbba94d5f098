//! The speed of deriving keys and drawing bits for each implementation, compared with a plain fill of memory.
//!
//! **Invariant:** only the public functions are measured; nothing is precomputed between iterations.

use std::hint::black_box;
use std::time::{Duration, Instant};

use keylint::prng::derive;
use keylint::prng::implementation::Implementation;
use keylint::prng::mode::Mode;

const MODES: [(&str, Mode); 2] = [
    ("partitionable", Mode { partitionable: true, x64: false }),
    ("original", Mode { partitionable: false, x64: false }),
];

/// How long one round lasts at least, and how many there are; the best one counts.
const ROUND: Duration = Duration::from_millis(50);
const ROUNDS: usize = 20;

fn main() {
    derivations();
    bulk_bits();
}

/// The modes in which an implementation behaves differently.
fn modes(implementation: Implementation) -> &'static [(&'static str, Mode)] {
    let depends = matches!(implementation, Implementation::Threefry2x32 | Implementation::Rbg);
    &MODES[..if depends { 2 } else { 1 }]
}

/// Prints how long a call takes, and how many units it yields in a second.
fn measure<T>(name: &str, (count, unit): (u32, &str), mut call: impl FnMut() -> T) {
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let (start, mut calls) = (Instant::now(), 0_u32);
        while start.elapsed() < ROUND {
            for _ in 0..64 {
                black_box(call());
            }
            calls += 64;
        }
        best = best.min(start.elapsed().as_secs_f64() / f64::from(calls));
    }
    println!("{name:<44} {:>11.1} ns {:>9.1} million {unit} per s", best * 1e9, f64::from(count) / best / 1e6);
}

fn derivations() {
    for implementation in Implementation::ALL {
        let Ok(key) = derive::key(Mode::default(), implementation, 42) else { continue };
        measure(&format!("derive/fold_in/{}", implementation.name()), (1, "keys"), || {
            derive::fold_in(black_box(&key), black_box(7))
        });
        for (name, mode) in modes(implementation) {
            measure(&format!("derive/split 1024/{}/{name}", implementation.name()), (1024, "keys"), || {
                derive::split(*mode, black_box(&key), &[1024])
            });
        }
    }
}

fn bulk_bits() {
    const WORDS: u32 = 1 << 18;
    let mut words = vec![0_u32; WORDS as usize];
    measure("bits/fill of memory", (4 * WORDS, "bytes"), || black_box(&mut words).fill(black_box(0x5EED)));
    for implementation in Implementation::ALL {
        let Ok(key) = derive::key(Mode::default(), implementation, 42) else { continue };
        for (name, mode) in modes(implementation) {
            measure(&format!("bits/{}/{name}", implementation.name()), (4 * WORDS, "bytes"), || {
                implementation.generator().fill_32(*mode, black_box(key.words()), black_box(&mut words));
            });
        }
    }
}
