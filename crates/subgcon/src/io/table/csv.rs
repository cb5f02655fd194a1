//! Text tables, read in blocks of whole records.
//!
//! Bytes come from one reader (a file, perhaps gzipped); a block ends where a
//! record ends, so blocks can be parsed by any thread. Where a block holds no
//! quote, records end at line feeds and can be cut anywhere between; otherwise
//! a small machine follows the quotes. It also finds what the record reader
//! would pass over in silence: a quote that is never closed, and carriage
//! returns that end lines on their own.

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
    /// Where a quoted block may be cut: ends of records, about [`PIECE`] apart.
    cuts: Vec<usize>,
}

/// Bytes that a thread parses at a time.
pub(crate) const PIECE: usize = 1 << 20;

/// No record is longer: a quote that is left open would swallow everything.
const LONGEST_RECORD: usize = 1 << 28;

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
                None if wanted >= LONGEST_RECORD => {
                    let problem = format!("the first line is longer than {LONGEST_RECORD} bytes");
                    return Err(Error::input(&self.path, problem, "is this a table?"));
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
        let mut records = Records::new(&self.rest, self.line, self.delimiter, self.comment);
        let Some((line, record)) = records.next(&self.path)? else { return Ok(None) };
        let place = || Place::line(&self.path, line);
        let name = |field| Ok(field_text(field, &place)?.trim().to_owned());
        let names = record.iter().map(name).collect::<Result<_>>()?;
        let mut end = records.reader.position().byte() as usize;
        // The reader stops between a carriage return and its line feed.
        if end > 0 && self.rest[end - 1] == b'\r' && self.rest.get(end) == Some(&b'\n') {
            end += 1;
        }
        // A record that ends with the buffer may go on after it.
        Ok((end < self.rest.len() || self.done).then_some((names, end)))
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
            let scan = match quoted {
                true => Scan::quoted(&self.rest, self.delimiter, self.comment),
                false => Scan::plain(&self.rest),
            };
            if let Some(place) =
                scan.lone_return.filter(|&at| at + 1 < self.rest.len() || self.done)
            {
                return Err(Error::input(
                    Place::line(&self.path, self.line_of(place)),
                    "a carriage return stands without a line feed",
                    "save the file with line feeds (or both) at the ends of lines",
                ));
            }
            let end = match (self.done, scan.open_quote) {
                (true, Some(place)) => {
                    return Err(Error::input(
                        Place::line(&self.path, self.line_of(place)),
                        "the quote that opens here is never closed",
                        "close it; a quote inside a quoted field is written twice",
                    ));
                }
                (true, None) => Some(self.rest.len()),
                (false, _) => scan.end,
            };
            // A record longer than the block: take more.
            let Some(end) = end else {
                if wanted >= LONGEST_RECORD {
                    return Err(Error::input(
                        Place::line(&self.path, self.line),
                        format!("the record is longer than {LONGEST_RECORD} bytes"),
                        "is a quote left open, or is this no table?",
                    ));
                }
                wanted *= 2;
                continue;
            };
            let after = self.rest.split_off(end);
            let bytes = std::mem::replace(&mut self.rest, after);
            let line = self.line;
            self.line += memchr::memchr_iter(b'\n', &bytes).count() as u64;
            return Ok(Some(Block { bytes, line, quoted, cuts: scan.cuts }));
        }
    }

    /// The line of a place in `rest`.
    fn line_of(&self, place: usize) -> u64 {
        self.line + memchr::memchr_iter(b'\n', &self.rest[..place]).count() as u64
    }

    /// Calls `each` with the line and fields of every record; stops where it
    /// answers false. A record of the wrong length is refused.
    pub(crate) fn each_record(
        mut self,
        mut each: impl FnMut(u64, &csv::ByteRecord) -> Result<bool>,
    ) -> Result<()> {
        while let Some(block) = self.block(PIECE)? {
            let mut records = Records::new(&block.bytes, block.line, self.delimiter, self.comment);
            while let Some((line, record)) = records.next(&self.path)? {
                if record.len() != self.names.len() {
                    return Err(ragged(&self.path, line, record.len(), self.names.len()));
                }
                if !each(line, record)? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

/// A record with the wrong number of fields.
pub(crate) fn ragged(path: &Path, line: u64, fields: usize, columns: usize) -> Error {
    Error::input(
        Place::line(path, line),
        format!("the row has {fields} fields, the table has {columns} columns"),
        "mend the row; a delimiter inside a field needs quotes around it",
    )
}

/// A field as text.
pub(crate) fn field_text<'f>(field: &'f [u8], place: &dyn Fn() -> Place) -> Result<&'f str> {
    std::str::from_utf8(field)
        .map_err(|_| Error::input(place(), "the text is not UTF-8", "save the file as UTF-8"))
}

/// Records of some bytes, each with the line on which it begins.
pub(crate) struct Records<'b> {
    reader: csv::Reader<&'b [u8]>,
    record: csv::ByteRecord,
    bytes: &'b [u8],
    comment: Option<u8>,
    /// A place in `bytes` and its line.
    at: usize,
    line: u64,
}

impl<'b> Records<'b> {
    pub(crate) fn new(bytes: &'b [u8], line: u64, delimiter: u8, comment: Option<u8>) -> Self {
        let reader = csv::ReaderBuilder::new()
            .delimiter(delimiter)
            .comment(comment)
            .has_headers(false)
            .flexible(true)
            .from_reader(bytes);
        Records { reader, record: csv::ByteRecord::new(), bytes, comment, at: 0, line }
    }

    pub(crate) fn next(&mut self, path: &Path) -> Result<Option<(u64, &csv::ByteRecord)>> {
        let more = self.reader.read_byte_record(&mut self.record).map_err(|error| {
            Error::input(Place::line(path, self.line), error.to_string(), "mend the record")
        })?;
        if !more {
            return Ok(None);
        }
        // The reader's position stands before line ends and comments that it skips.
        let mut start = self.record.position().map_or(self.at, |at| at.byte() as usize);
        loop {
            match self.bytes.get(start) {
                Some(b'\r' | b'\n') => start += 1,
                Some(&byte) if Some(byte) == self.comment => {
                    let rest = &self.bytes[start..];
                    start += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                }
                _ => break,
            }
        }
        let passed = self.bytes.get(self.at..start).unwrap_or_default();
        self.line += memchr::memchr_iter(b'\n', passed).count() as u64;
        self.at = start;
        Ok(Some((self.line, &self.record)))
    }
}

/// What a look at whole lines tells before they are parsed.
#[derive(Debug, Default, PartialEq)]
struct Scan {
    /// Where the last whole record ends.
    end: Option<usize>,
    /// Where a quote opens that is not closed.
    open_quote: Option<usize>,
    /// A carriage return without line feed, outside of quotes.
    lone_return: Option<usize>,
    /// Ends of records, about [`PIECE`] apart.
    cuts: Vec<usize>,
}

impl Scan {
    fn plain(bytes: &[u8]) -> Scan {
        let lone = |&at: &usize| bytes.get(at + 1) != Some(&b'\n');
        Scan {
            end: memchr::memrchr(b'\n', bytes).map(|at| at + 1),
            lone_return: memchr::memchr_iter(b'\r', bytes).find(lone),
            ..Scan::default()
        }
    }

    /// Follows quotes the way the record reader does: a quote opens a field only
    /// at its start, and a doubled one does not close it.
    fn quoted(bytes: &[u8], delimiter: u8, comment: Option<u8>) -> Scan {
        #[derive(Clone, Copy, PartialEq)]
        enum State {
            RecordStart,
            FieldStart,
            Plain,
            Quoted,
            QuoteInQuoted,
            Comment,
        }
        let mut scan = Scan::default();
        let (mut state, mut opened, mut cut) = (State::RecordStart, 0, 0);
        for (place, &byte) in bytes.iter().enumerate() {
            state = match (state, byte) {
                (State::Quoted, b'"') => State::QuoteInQuoted,
                (State::Quoted, _) | (State::QuoteInQuoted, b'"') => State::Quoted,
                (_, b'\n') => {
                    scan.end = Some(place + 1);
                    if place + 1 - cut >= PIECE {
                        cut = place + 1;
                        scan.cuts.push(cut);
                    }
                    State::RecordStart
                }
                (State::Comment, _) => State::Comment,
                (State::RecordStart, _) if Some(byte) == comment => State::Comment,
                (_, b'\r') => {
                    if scan.lone_return.is_none() && bytes.get(place + 1) != Some(&b'\n') {
                        scan.lone_return = Some(place);
                    }
                    state
                }
                (State::RecordStart | State::FieldStart, b'"') => {
                    opened = place;
                    State::Quoted
                }
                (_, _) if byte == delimiter => State::FieldStart,
                _ => State::Plain,
            };
        }
        if state == State::Quoted {
            scan.open_quote = Some(opened);
        }
        scan
    }
}

impl Block {
    /// Cuts the block into pieces of whole records, each with the line on which
    /// it begins.
    pub(crate) fn pieces(&self) -> Vec<(&[u8], u64)> {
        let mut cuts = self.cuts.clone();
        if !self.quoted {
            let mut at = 0;
            while let Some(next) =
                self.bytes.get(at + PIECE..).and_then(|after| memchr::memchr(b'\n', after))
            {
                at += PIECE + next + 1;
                cuts.push(at);
            }
        }
        cuts.retain(|&cut| cut < self.bytes.len());
        cuts.push(self.bytes.len());
        let (mut start, mut line) = (0, self.line);
        let piece = |end: usize| {
            let piece = (&self.bytes[start..end], line);
            line += memchr::memchr_iter(b'\n', piece.0).count() as u64;
            start = end;
            piece
        };
        cuts.into_iter().map(piece).collect()
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
                let mut found = Records::new(&block.bytes, block.line, b',', None);
                while let Some((_, record)) = found.next(Path::new("t.csv")).unwrap() {
                    let fields: Vec<_> = record.iter().map(String::from_utf8_lossy).collect();
                    records.push(fields.join("|"));
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
        let line = "1,\"2\n\"\n";
        let quoted = line.repeat(3 * PIECE / line.len());
        let plain = quoted.replace('"', "");
        for text in [quoted, plain] {
            let mut table = table(format!("a,b\n{text}").as_bytes(), "t.csv").unwrap();
            let block = table.block(8 * PIECE).unwrap().unwrap();
            let pieces = block.pieces();
            assert!(pieces.len() >= 2, "{}", pieces.len());
            let mut expected = 2;
            for (bytes, line) in &pieces {
                assert_eq!(*line, expected);
                expected += bytes.iter().filter(|&&b| b == b'\n').count() as u64;
            }
            let whole: Vec<u8> = pieces.iter().flat_map(|piece| piece.0.to_vec()).collect();
            assert!(whole == text.as_bytes());
        }
    }

    #[test]
    fn records_know_their_lines() {
        let text = "\r\n1\r\n# no\n\n\"2\n2\"\n3\n";
        let mut records = Records::new(text.as_bytes(), 10, b',', Some(b'#'));
        let mut lines = Vec::new();
        while let Some((line, record)) = records.next(Path::new("t")).unwrap() {
            lines.push((line, record[0][0]));
        }
        assert_eq!(lines, [(11, b'1'), (14, b'2'), (16, b'3')]);
    }

    #[test]
    fn open_quotes_and_lone_returns_are_found() {
        let refused = |text: &str| {
            let mut table = table(text.as_bytes(), "t.csv").unwrap();
            loop {
                match table.block(16) {
                    Ok(Some(_)) => {}
                    Ok(None) => return String::new(),
                    Err(error) => return error.to_string(),
                }
            }
        };
        let told = refused("a,b\n1,2\n3,\"4\n5,6\n");
        assert!(told.contains("t.csv:3: the quote that opens here is never closed"), "{told}");
        let told = refused("a,b\n1,2\n3,4\r5,6\n");
        assert!(told.contains("t.csv:3: a carriage return stands without"), "{told}");
        let told = refused("a,b\n1,\"x\"\n3,4\r5,6\n");
        assert!(told.contains("t.csv:3: a carriage return stands without"), "{told}");
        assert_eq!(refused("a,b\r\n1,\"x\ry\"\r\n3,4\r\n"), "");
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
