//! Keeps a panic inside someone else's decoder from ending the program.
//!
//! The readers of Parquet and Arrow check much, but a file made for it can
//! still drive them into a failed assertion. Inside [`guarded`] that is an
//! error like any other, and nothing is printed.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::Once;

use crate::error::{Error, Result};

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Runs `decode` on a file from outside; a panic in it becomes an error.
pub(crate) fn guarded<T>(path: &Path, decode: impl FnOnce() -> Result<T>) -> Result<T> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !INSIDE.get() {
                usual(info);
            }
        }));
    });
    let before = INSIDE.replace(true);
    // What `decode` leaves half done is dropped with its error.
    let decoded = panic::catch_unwind(AssertUnwindSafe(decode));
    INSIDE.set(before);
    decoded.unwrap_or_else(|cause| {
        let said = cause
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| cause.downcast_ref::<&str>().copied())
            .unwrap_or("no reason given");
        Err(unreadable(path, &said))
    })
}

/// The file is not what its name says, or is damaged.
pub(crate) fn unreadable(path: &Path, error: &dyn std::fmt::Display) -> Error {
    Error::input(
        path,
        format!("cannot be read as a table ({error})"),
        "the file is truncated, corrupt or of another format: write it again",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error_that_names_the_file() {
        let decode = || -> Result<()> { panic!("offset {}", 7) };
        let error = guarded(Path::new("x.arrow"), decode).unwrap_err().to_string();
        assert!(error.starts_with("x.arrow: cannot be read as a table (offset 7); "), "{error}");
        assert_eq!(guarded(Path::new("x"), || Ok(3)).unwrap(), 3);
    }
}
