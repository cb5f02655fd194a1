//! Text tables, read in blocks of whole records.
//!
//! Bytes come from one reader (a file, perhaps gzipped); a block ends where a
//! record ends, so blocks can be parsed by any thread. Where a block holds no
//! quote, records end at line feeds and can be cut anywhere between; otherwise
//! a small machine follows the quotes.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

use super::TextOptions;
use crate::error::{Error, Place, Result};

/// An open text table, its header read.
pub(crate) struct TextTable {
    pub(crate) path: PathBuf,
    pub(crate) delimiter: u8,
    pub(crate) comment: Option<u8>,
    pub(crate) names: Vec<String>,
    reader: Box<dyn Read + Send>,
    /// Bytes that were read and not yet handed out; they begin with a record.
    rest: Vec<u8>,
    /// The line on which `rest` begins, from 1.
    line: u64,
    done: bool,
}

/// Whole records.
pub(crate) struct Block {
    pub(crate) bytes: Vec<u8>,
    /// The line on which they begin, from 1.
    pub(crate) line: u64,
    /// Whether there is a quote among them.
    pub(crate) quoted: bool,
}

/// Opens a file, unpacking it where its first bytes say it is gzipped.
pub(crate) fn open_bytes(path: &Path) -> Result<Box<dyn Read + Send>> {
    let mut file = File::open(path).map_err(Error::io("open", path))?;
    let mut first = [0u8; 2];
    let mut have = 0;
    while have < 2 {
        match file.read(&mut first[have..]).map_err(Error::io("read", path))? {
            0 => break,
            read => have += read,
        }
    }
    let whole = std::io::Cursor::new(first[..have].to_vec()).chain(file);
    Ok(if first == [0x1f, 0x8b] {
        Box::new(MultiGzDecoder::new(BufReader::with_capacity(1 << 18, whole)))
    } else {
        Box::new(whole)
    })
}

impl TextTable {
    pub(crate) fn open(path: &Path, delimiter: u8, options: TextOptions) -> Result<TextTable> {
        let mut table = TextTable {
            path: path.to_path_buf(),
            delimiter,
            comment: options.comment,
            names: Vec::new(),
            reader: open_bytes(path)?,
            rest: Vec::new(),
            line: 1,
            done: false,
        };
        table.read_header(options.no_header)?;
        Ok(table)
    }

    fn read_header(&mut self, no_header: bool) -> Result<()> {
        // Long enough for any header; a longer one grows it.
        let mut wanted = 1 << 16;
        let first = loop {
            self.fill(wanted)?;
            if self.rest.starts_with(b"\xef\xbb\xbf") {
                self.rest.drain(..3);
            }
            match self.first_record()? {
                Some(first) => break first,
                None if self.done => {
                    return Err(Error::input(&self.path, "the file is empty", "give it a header"));
                }
                None => wanted *= 2,
            }
        };
        let (fields, end) = first;
        if no_header {
            self.names = (0..fields.len()).map(|column| column.to_string()).collect();
        } else {
            self.names = fields;
            self.line += memchr::memchr_iter(b'\n', &self.rest[..end]).count() as u64;
            self.rest.drain(..end);
        }
        Ok(())
    }

    /// The fields of the first record in `rest` and where it ends, or nothing
    /// where more bytes are needed.
    fn first_record(&self) -> Result<Option<(Vec<String>, usize)>> {
        let mut reader = self.records(&self.rest[..]);
        let mut record = csv::StringRecord::new();
        let some = reader.read_record(&mut record).map_err(|error| self.failed(&error, 1))?;
        let mut end = reader.position().byte() as usize;
        // The reader stops between a carriage return and its line feed.
        if end > 0 && self.rest[end - 1] == b'\r' && self.rest.get(end) == Some(&b'\n') {
            end += 1;
        }
        // A record that ends with the buffer may go on after it.
        if !some || (end >= self.rest.len() && !self.done) {
            return Ok(None);
        }
        Ok(Some((record.iter().map(|field| field.trim().to_owned()).collect(), end)))
    }

    /// A reader of records over bytes of this table.
    pub(crate) fn records<R: Read>(&self, bytes: R) -> csv::Reader<R> {
        csv::ReaderBuilder::new()
            .delimiter(self.delimiter)
            .comment(self.comment)
            .has_headers(false)
            .flexible(true)
            .from_reader(bytes)
    }

    /// The user's error behind one of the record reader's.
    pub(crate) fn failed(&self, error: &csv::Error, first_line: u64) -> Error {
        let line = first_line + error.position().map_or(0, |position| position.line() - 1);
        let place = Place::line(&self.path, line);
        match error.kind() {
            csv::ErrorKind::Utf8 { .. } => {
                Error::input(place, "the text is not UTF-8", "save the file as UTF-8")
            }
            _ => Error::input(place, error.to_string(), "mend the record"),
        }
    }

    /// A record with the wrong number of fields.
    pub(crate) fn ragged(&self, line: u64, fields: usize) -> Error {
        let expected = self.names.len();
        Error::input(
            Place::line(&self.path, line),
            format!("the row has {fields} fields, the table has {expected} columns"),
            "mend the row; a delimiter inside a field needs quotes around it",
        )
    }

    /// Reads until `rest` holds at least `wanted` bytes or the file ends.
    fn fill(&mut self, wanted: usize) -> Result<()> {
        let start = self.rest.len();
        if self.done || start >= wanted {
            return Ok(());
        }
        let missing = (wanted - start) as u64;
        let read = self.reader.by_ref().take(missing).read_to_end(&mut self.rest);
        let read = read.map_err(|source| match source.kind() {
            std::io::ErrorKind::InvalidInput
            | std::io::ErrorKind::InvalidData
            | std::io::ErrorKind::UnexpectedEof => Error::input(
                &self.path,
                format!("the gzip stream is truncated or corrupt ({source})"),
                "copy or compress the file again",
            ),
            _ => Error::io("read", &self.path)(source),
        })?;
        self.done = (read as u64) < missing;
        Ok(())
    }

    /// The next block of about `size` bytes, or nothing at the end.
    pub(crate) fn block(&mut self, size: usize) -> Result<Option<Block>> {
        let mut wanted = size;
        loop {
            self.fill(wanted)?;
            if self.rest.is_empty() {
                return Ok(None);
            }
            let quoted = memchr::memchr(b'"', &self.rest).is_some();
            let end = match (self.done, quoted) {
                (true, _) => Some(self.rest.len()),
                (false, false) => memchr::memrchr(b'\n', &self.rest).map(|at| at + 1),
                (false, true) => last_record_end(&self.rest, self.delimiter, self.comment),
            };
            // A record longer than the block: take more.
            let Some(end) = end else {
                wanted *= 2;
                continue;
            };
            let after = self.rest.split_off(end);
            let bytes = std::mem::replace(&mut self.rest, after);
            let line = self.line;
            self.line += memchr::memchr_iter(b'\n', &bytes).count() as u64;
            return Ok(Some(Block { bytes, line, quoted }));
        }
    }
}

/// Where the last whole record ends, following quotes the way the record reader
/// does: a quote opens a field only at its start, and a doubled one does not
/// close it.
fn last_record_end(bytes: &[u8], delimiter: u8, comment: Option<u8>) -> Option<usize> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        RecordStart,
        FieldStart,
        Plain,
        Quoted,
        QuoteInQuoted,
        Comment,
    }
    let mut state = State::RecordStart;
    let mut end = None;
    for (place, &byte) in bytes.iter().enumerate() {
        state = match (state, byte) {
            (State::Quoted, b'"') => State::QuoteInQuoted,
            (State::Quoted, _) | (State::QuoteInQuoted, b'"') => State::Quoted,
            (_, b'\n') => {
                end = Some(place + 1);
                State::RecordStart
            }
            (State::Comment, _) => State::Comment,
            (State::RecordStart, _) if Some(byte) == comment => State::Comment,
            (State::RecordStart | State::FieldStart, b'"') => State::Quoted,
            (_, _) if byte == delimiter => State::FieldStart,
            (State::RecordStart, b'\r') => State::RecordStart,
            _ => State::Plain,
        };
    }
    end
}

impl Block {
    /// Cuts a block without quotes into pieces of whole lines, each with the
    /// line on which it begins.
    pub(crate) fn pieces(&self, size: usize) -> Vec<(&[u8], u64)> {
        let mut pieces = Vec::new();
        let (mut rest, mut line) = (&self.bytes[..], self.line);
        while !rest.is_empty() {
            let cut = match rest.get(size..).and_then(|after| memchr::memchr(b'\n', after)) {
                Some(at) if !self.quoted => size + at + 1,
                _ => rest.len(),
            };
            let (piece, after) = rest.split_at(cut);
            pieces.push((piece, line));
            line += memchr::memchr_iter(b'\n', piece).count() as u64;
            rest = after;
        }
        pieces
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(content: &[u8], name: &str) -> Result<TextTable> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        TextTable::open(&path, b',', TextOptions::default())
    }

    #[test]
    fn blocks_end_where_records_end() {
        let text = "\u{feff}a,b\r\n1,\"x\ny\"\n2,5\" pipe\n3,\"he said \"\"no\n\"\"\"\n4,z";
        for size in 1..40 {
            let mut table = table(text.as_bytes(), "t.csv").unwrap();
            assert_eq!(table.names, ["a", "b"]);
            let mut records = Vec::new();
            let mut lines = 2;
            while let Some(block) = table.block(size).unwrap() {
                assert_eq!(block.line, lines, "size {size}");
                lines += block.bytes.iter().filter(|&&b| b == b'\n').count() as u64;
                for record in table.records(&block.bytes[..]).records() {
                    records.push(record.unwrap().iter().collect::<Vec<_>>().join("|"));
                }
            }
            assert_eq!(
                records,
                ["1|x\ny", "2|5\" pipe", "3|he said \"no\n\"", "4|z"],
                "size {size}"
            );
        }
    }

    #[test]
    fn pieces_cover_the_block_line_by_line() {
        let block = Block { bytes: b"1,2\n3,4\n5,6\n7,8".to_vec(), line: 9, quoted: false };
        let pieces = block.pieces(5);
        assert_eq!(pieces, [(&b"1,2\n3,4\n"[..], 9), (&b"5,6\n7,8"[..], 11)]);
    }

    #[test]
    fn an_empty_file_and_a_cut_gzip_are_refused() {
        let error = table(b"", "t.csv").err().unwrap().to_string();
        assert!(error.contains("is empty"), "{error}");
        use std::io::Write;
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        (0..5000).for_each(|i| writeln!(packer, "{i},{}", i * 7919 % 5000).unwrap());
        let packed = packer.finish().unwrap();
        let error = table(&packed[..packed.len() / 2], "t.csv.gz").and_then(|mut table| {
            while table.block(1 << 20)?.is_some() {}
            Ok(())
        });
        let error = error.unwrap_err().to_string();
        assert!(error.contains("truncated or corrupt"), "{error}");
    }
}
