//! The speed of deriving keys and drawing bits for each implementation, compared with a plain fill of memory.
//!
//! **Invariant:** only the public functions are measured; nothing is precomputed between iterations.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use keylint::prng::derive;
use keylint::prng::implementation::Implementation;
use keylint::prng::mode::Mode;

const MODES: [(&str, Mode); 2] = [
    ("partitionable", Mode { partitionable: true, x64: false }),
    ("original", Mode { partitionable: false, x64: false }),
];

/// The modes in which an implementation behaves differently.
fn modes(implementation: Implementation) -> &'static [(&'static str, Mode)] {
    let depends = matches!(implementation, Implementation::Threefry2x32 | Implementation::Rbg);
    &MODES[..if depends { 2 } else { 1 }]
}

fn derivations(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("derive");
    for implementation in Implementation::ALL {
        let Ok(key) = derive::key(Mode::default(), implementation, 42) else { continue };
        group.throughput(Throughput::Elements(1));
        group.bench_function(format!("fold_in/{}", implementation.name()), |bencher| {
            bencher.iter(|| derive::fold_in(black_box(&key), black_box(7)));
        });
        for (name, mode) in modes(implementation) {
            group.throughput(Throughput::Elements(1024));
            group.bench_function(format!("split 1024/{}/{name}", implementation.name()), |bencher| {
                bencher.iter(|| derive::split(*mode, black_box(&key), &[1024]));
            });
        }
    }
    group.finish();
}

fn bulk_bits(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("bits");
    let mut words = vec![0_u32; 1 << 18];
    group.throughput(Throughput::Bytes(4 << 18));
    group.bench_function("fill of memory", |bencher| {
        bencher.iter(|| black_box(&mut words).fill(black_box(0x5EED)));
    });
    for implementation in Implementation::ALL {
        let Ok(key) = derive::key(Mode::default(), implementation, 42) else { continue };
        for (name, mode) in modes(implementation) {
            group.bench_function(format!("{}/{name}", implementation.name()), |bencher| {
                bencher.iter(|| {
                    implementation.generator().fill_32(*mode, black_box(key.words()), black_box(&mut words));
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, derivations, bulk_bits);
criterion_main!(benches);
