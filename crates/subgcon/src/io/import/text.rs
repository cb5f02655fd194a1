//! How are plain text files read, line by line and packed or not?
//!
//! Lines end with `\n` or `\r\n`; fields are divided by commas and never
//! quoted. Files ending in `.gz` are unpacked while reading, also when they
//! consist of several parts.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use flate2::read::MultiGzDecoder;

use crate::error::{Error, Place, Result, shown};
use crate::io::table::file_name;
use crate::progress::Progress;

/// A line longer than this is no line of a table; a packed file could unfold
/// to any length.
const LONGEST_LINE: u64 = 1 << 26;

/// A text file, one line at a time.
pub(super) struct Lines {
    path: PathBuf,
    source: Box<dyn BufRead>,
    line: Vec<u8>,
    number: u64,
}

impl Lines {
    /// Opens a file, unpacking it where its name ends in `.gz`.
    pub(super) fn open(path: &Path) -> Result<Lines> {
        const BUFFER: usize = 1 << 17;
        let file = File::open(path).map_err(Error::io("open", path))?;
        let packed = path.extension().is_some_and(|extension| extension == "gz");
        let source: Box<dyn BufRead> = match packed {
            true => Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(file))),
            false => Box::new(BufReader::with_capacity(BUFFER, file)),
        };
        Ok(Lines { path: path.to_path_buf(), source, line: Vec::new(), number: 0 })
    }

    /// Goes to the next line; false at the end of the file.
    pub(super) fn advance(&mut self) -> Result<bool> {
        self.line.clear();
        let mut limited = self.source.by_ref().take(LONGEST_LINE);
        let length = limited.read_until(b'\n', &mut self.line).map_err(|error| {
            Error::input(
                Place::line(&self.path, self.number + 1),
                format!("cannot be read: {error}"),
                "the file is damaged or cut short; fetch it again",
            )
        })?;
        self.number += 1;
        if self.line.last() == Some(&b'\n') {
            self.line.pop();
        } else if length as u64 == LONGEST_LINE {
            return Err(self.refuse(
                format!("the line is longer than {LONGEST_LINE} bytes"),
                "is this a text file?",
            ));
        }
        if self.line.last() == Some(&b'\r') {
            self.line.pop();
        }
        Ok(length > 0)
    }

    /// The line as it is.
    pub(super) fn whole(&self) -> &[u8] {
        &self.line
    }

    /// The fields between commas.
    pub(super) fn fields(&self) -> impl Iterator<Item = &[u8]> {
        self.line.split(|&byte| byte == b',')
    }

    /// Exactly this many fields.
    pub(super) fn exactly<const N: usize>(&self) -> Result<[&[u8]; N]> {
        let mut fields = self.fields();
        let mut found = [&b""[..]; N];
        for (index, place) in found.iter_mut().enumerate() {
            *place = fields.next().ok_or_else(|| self.wrong_fields(index, N))?;
        }
        match fields.count() {
            0 => Ok(found),
            more => Err(self.wrong_fields(N + more, N)),
        }
    }

    /// An error about the number of fields of this line.
    pub(super) fn wrong_fields(&self, has: usize, needs: usize) -> Error {
        self.refuse(format!("has {has} fields instead of {needs}"), "mend the line")
    }

    /// A field as a number; `what` says which kind is expected.
    pub(super) fn number<T: FromStr>(&self, field: &[u8], what: &str) -> Result<T> {
        let text = field.trim_ascii();
        let number = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
        number.ok_or_else(|| {
            let field = shown(&String::from_utf8_lossy(field));
            self.refuse(format!("{field} is not {what}"), "mend the line")
        })
    }

    /// An error about this line.
    pub(super) fn refuse(&self, problem: impl Into<String>, remedy: impl Into<String>) -> Error {
        Error::input(Place::line(&self.path, self.number), problem, remedy)
    }

    /// Lines so far.
    pub(super) fn line_number(&self) -> u64 {
        self.number
    }
}

/// Watches a file that is read line by line.
pub(super) struct Reading<'p> {
    progress: &'p dyn Progress,
    /// Lines that were read and not yet told of.
    untold: u64,
}

impl<'p> Reading<'p> {
    /// Begins a file of so many lines, 0 where nobody knows.
    pub(super) fn begin(progress: &'p dyn Progress, path: &Path, lines: u64) -> Reading<'p> {
        progress.begin(&format!("reading {}", file_name(path)), lines, "lines");
        Reading { progress, untold: 0 }
    }

    /// One line more.
    pub(super) fn line(&mut self) {
        const BATCH: u64 = 4096;
        self.untold += 1;
        if self.untold == BATCH {
            self.progress.advance(std::mem::take(&mut self.untold));
        }
    }

    /// All lines are read.
    pub(super) fn end(self) {
        self.progress.advance(self.untold);
        self.progress.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    fn read(name: &str, bytes: &[u8]) -> Result<Vec<String>> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let mut lines = Lines::open(&path)?;
        let mut all = Vec::new();
        while lines.advance()? {
            all.push(String::from_utf8_lossy(lines.whole()).into_owned());
        }
        Ok(all)
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn lines_come_packed_or_not_with_either_ending() {
        for text in [&b"a\n\nb,c\n"[..], b"a\r\n\r\nb,c"] {
            assert_eq!(read("t.csv", text).unwrap(), ["a", "", "b,c"]);
            assert_eq!(read("t.csv.gz", &gzip(text)).unwrap(), ["a", "", "b,c"]);
        }
        let parts = [gzip(b"a\n"), gzip(b"b\n")].concat();
        assert_eq!(read("t.gz", &parts).unwrap(), ["a", "b"]);
        assert!(read("t.csv", b"").unwrap().is_empty());
    }

    #[test]
    fn truncated_and_corrupt_gzip_is_refused() {
        let packed = gzip(b"1,2\n3,4\n");
        for end in 0..packed.len() {
            assert!(read("t.gz", &packed[..end]).is_err(), "cut at {end}");
        }
        let mut corrupt = packed.clone();
        let checksum = corrupt.len() - 8;
        corrupt[checksum] ^= 1;
        let error = read("t.gz", &corrupt).unwrap_err().to_string();
        assert!(error.contains("cannot be read") && error.contains("fetch it again"), "{error}");
    }

    #[test]
    fn a_file_without_line_ends_is_not_held_in_memory() {
        let packed = gzip(&vec![b'x'; LONGEST_LINE as usize + 10]);
        let error = read("t.gz", &packed).unwrap_err().to_string();
        assert!(error.contains("longer than"), "{error}");
    }
}
