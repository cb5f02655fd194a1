//! What the tests of several formats share.

use std::path::Path;

use crate::rng::Stream;

/// Everything in a folder, hidden files too, sorted.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Up to three small damages: a cut, an insertion, a gap, an extreme number, a
/// flipped bit.
pub(crate) fn mutated(bytes: &[u8], stream: &mut Stream) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=stream.below(3) {
        let place = stream.below(bytes.len() as u64 + 1) as usize;
        match stream.below(6) {
            0 => bytes.truncate(place),
            1 => bytes.insert(place, stream.bits() as u8),
            2 => {
                let end = bytes.len().min(place + stream.below(40) as usize);
                bytes.drain(place..end);
            }
            3 => {
                let extreme = [u64::MAX, 1 << 62, 1 << 40, 1 << 31, 0xffff_ff7f, 0];
                let value = extreme[stream.below(6) as usize].to_le_bytes();
                let end = bytes.len().min(place + 1 + stream.below(8) as usize);
                bytes[place..end].copy_from_slice(&value[..end - place]);
            }
            _ => {
                if let Some(byte) = bytes.get_mut(place) {
                    *byte ^= 1 << stream.below(8);
                }
            }
        }
    }
    bytes
}

/// How many damaged files of a kind a test tries; see CONTRIBUTING.md.
pub(crate) fn mutations() -> u64 {
    std::env::var("SUBGCON_MUTATIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(300)
}

/// Whether this process cannot write files beyond a limit, which plays a disk
/// that fills up. If not, runs the test of this name again in one that cannot.
#[cfg(unix)]
pub(crate) fn on_full_disk(test: &str, kilobytes: u32) -> bool {
    const MARK: &str = "SUBGCON_TEST_FULL_DISK";
    if std::env::var_os(MARK).is_some() {
        return true;
    }
    let limited = format!("ulimit -f {kilobytes}; trap '' XFSZ; exec \"$0\" --exact \"$1\"");
    let output = std::process::Command::new("bash")
        .args(["-c", &limited])
        .arg(std::env::current_exe().unwrap())
        .arg(test)
        .env(MARK, "1")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && told.contains("1 passed"), "{told}");
    false
}
