//! Random damage to every file of every toy: an importer answers with a graph
//! or with an error, and never panics.
//!
//! SUBGCON_MUTATIONS sets the number of mutations a file (60 otherwise).

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::harness::import;
use crate::toy::{self, Content};
use subgcon::rng::Stream;

fn mutate(bytes: &mut Vec<u8>, stream: &mut Stream) {
    const TELLING: [u8; 12] = [0, 1, 0x7f, 0x80, 0xff, b'-', b'9', b',', b'\n', b'"', b'(', b'.'];
    for _ in 0..1 + stream.below(4) {
        let length = bytes.len() as u64;
        let at = stream.below(length + 1) as usize;
        match stream.below(6) {
            0 if at < bytes.len() => bytes[at] ^= 1 << stream.below(8),
            1 if at < bytes.len() => bytes[at] = TELLING[stream.below(12) as usize],
            2 => bytes.insert(at, TELLING[stream.below(12) as usize]),
            3 if stream.below(4) == 0 => bytes.truncate(at),
            4 => {
                let end = (at + 1 + stream.below(8) as usize).min(bytes.len());
                bytes.drain(at..end.max(at));
            }
            5 => {
                let from = stream.below(length + 1) as usize;
                let end = (from + stream.below(16) as usize).min(bytes.len());
                let piece = bytes[from..end].to_vec();
                bytes.splice(at..at, piece);
            }
            _ => {}
        }
    }
}

/// Damages the file, or one member of an archive, whose checksum then fits.
fn damaged(content: &Content, stream: &mut Stream) -> Vec<u8> {
    let mut content = content.clone();
    match &mut content {
        Content::Archive(members) if stream.below(4) > 0 => {
            let member = stream.below(members.len() as u64) as usize;
            mutate(&mut members[member].1, stream);
            content.bytes()
        }
        _ => {
            let mut bytes = content.bytes();
            mutate(&mut bytes, stream);
            bytes
        }
    }
}

#[test]
fn damaged_files_never_panic() {
    let count = std::env::var("SUBGCON_MUTATIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(60);
    let (mut accepted, mut refused) = (0u64, 0u64);
    for toy in toy::all() {
        let dir = tempfile::tempdir().unwrap();
        toy.write(dir.path());
        for (name, content) in &toy.files {
            let path = dir.path().join(name);
            for index in 0..count {
                let mut stream = Stream::new(7, &format!("{} {name}", toy.name), index);
                std::fs::write(&path, damaged(content, &mut stream)).unwrap();
                let outcome = catch_unwind(AssertUnwindSafe(|| {
                    import(|store| (toy.import)(dir.path(), store)).is_ok()
                }));
                match outcome {
                    Ok(true) => accepted += 1,
                    Ok(false) => refused += 1,
                    Err(_) => panic!("{}: {name}: mutation {index} panics", toy.name),
                }
            }
            std::fs::write(&path, content.bytes()).unwrap();
        }
    }
    // Both happen, or the damage would not be worth its name.
    assert!(accepted > 0 && refused > accepted / 10, "{accepted} accepted, {refused} refused");
}
