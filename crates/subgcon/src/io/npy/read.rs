//! How are the values of a `.npy` file read without holding the file?
//!
//! In blocks of bytes that are turned into numbers as they arrive, so that
//! memory grows with what is really there and not with what the header claims.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use super::number::{decode, transpose};
use super::{Header, Kind, Number, check_header_length, parse_dict, preamble};
use crate::error::{At, Error, Place, Result};

/// Bytes that are decoded at a time.
const BLOCK: usize = 1 << 18;

/// Values are given room in advance only up to this many; beyond, room grows
/// with the values that arrive.
const ROOM: u64 = 1 << 20;

const REMEDY: &str = "save it again with numpy.save or fetch it again";

/// A `.npy` file or member whose header has been read.
#[derive(Debug)]
pub(crate) struct NpyReader<R> {
    source: R,
    header: Header,
    place: Place,
    /// Values in all, and values not yet read.
    total: u64,
    left: u64,
    block: Vec<u8>,
}

impl NpyReader<BufReader<File>> {
    /// Opens a `.npy` file.
    pub(crate) fn open(path: &Path) -> Result<NpyReader<BufReader<File>>> {
        let file = File::open(path).map_err(Error::io("open", path))?;
        let about = file.metadata().map_err(Error::io("read", path))?;
        let length = about.is_file().then_some(about.len());
        NpyReader::new(BufReader::with_capacity(BLOCK, file), path, length)
    }
}

impl<R: Read> NpyReader<R> {
    /// Reads the header from `source`. Where the number of bytes is known, it
    /// has to be what the header claims.
    pub(crate) fn new(
        mut source: R,
        place: impl Into<Place>,
        length: Option<u64>,
    ) -> Result<NpyReader<R>> {
        let place = place.into();
        let refuse = |problem: String| Error::input(place.clone(), problem, REMEDY);
        let mut prefix = [0; 10];
        fill(&mut source, &mut prefix, &place)?;
        let (mut before, wide) = preamble(prefix).map_err(refuse)?;
        let mut field = [prefix[8], prefix[9], 0, 0];
        if wide {
            fill(&mut source, &mut field[2..], &place)?;
        }
        let size = check_header_length(u32::from_le_bytes(field) as usize).map_err(refuse)?;
        let mut text = vec![0; size];
        fill(&mut source, &mut text, &place)?;
        before += size;
        let header = parse_dict(&text).map_err(refuse)?;
        let claimed = header.bytes().map_err(refuse)?;
        // Objects have no size: what follows is a pickle of any length.
        if let Some(length) = length.filter(|_| header.dtype.kind != Kind::Object) {
            let there = length.saturating_sub(before as u64);
            if there != claimed {
                return Err(refuse(format!(
                    "shape {} of {} takes {claimed} bytes but {there} follow the header",
                    header.shown_shape(),
                    header.descr,
                )));
            }
        }
        let total = header.values().map_err(refuse)?;
        Ok(NpyReader { source, header, place, total, left: total, block: Vec::new() })
    }

    /// What the header says.
    pub(crate) fn header(&self) -> &Header {
        &self.header
    }

    /// The file or member, for messages.
    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    /// Values that have been read.
    pub(crate) fn done(&self) -> u64 {
        self.total - self.left
    }

    /// An error about this array.
    pub(crate) fn refuse(&self, problem: impl Into<String>, remedy: impl Into<String>) -> Error {
        Error::input(self.place.clone(), problem, remedy)
    }

    /// Length of a one-dimensional array.
    pub(crate) fn length(&self) -> Result<u64> {
        match self.header.shape[..] {
            [length] => Ok(length),
            _ => Err(self.refuse(
                format!("has shape {} but one dimension is expected", self.header.shown_shape()),
                "flatten it with numpy.ravel",
            )),
        }
    }

    /// Rows and columns of a matrix.
    pub(crate) fn matrix(&self) -> Result<(u64, usize)> {
        let refuse = |remedy| {
            self.refuse(
                format!(
                    "has shape {} but rows and columns are expected",
                    self.header.shown_shape()
                ),
                remedy,
            )
        };
        match self.header.shape[..] {
            [rows, columns] => {
                let columns = usize::try_from(columns).map_err(|_| refuse("save fewer columns"))?;
                Ok((rows, columns))
            }
            _ => Err(refuse("save it as a matrix, one row a node")),
        }
    }

    /// Appends the next values, as they lie in the file, to `out`: `most` of
    /// them, or as many as are left.
    pub(crate) fn read<T: Number>(&mut self, out: &mut Vec<T>, most: u64) -> Result<()> {
        let dtype = self.header.dtype;
        if matches!(dtype.kind, Kind::Bytes | Kind::Text | Kind::Object) {
            // Nothing is read: the message is all that is wanted.
            return match decode::<T>(dtype, &[], out) {
                Err(misfit) => Err(self.refuse(format!("each value {}", misfit.problem), REMEDY)),
                Ok(()) => Ok(()),
            };
        }
        let mut wanted = most.min(self.left);
        out.reserve(wanted.min(ROOM) as usize);
        while wanted > 0 {
            let values = wanted.min((BLOCK / dtype.size) as u64);
            self.block.resize(values as usize * dtype.size, 0);
            fill(&mut self.source, &mut self.block, &self.place)?;
            decode(dtype, &self.block, out).map_err(|misfit| {
                let index = self.done() + misfit.index as u64;
                self.refuse(
                    format!("value {} {}", self.shown_index(index), misfit.problem),
                    "mend the value or the type of the array",
                )
            })?;
            self.left -= values;
            wanted -= values;
        }
        if self.left == 0 {
            self.end()?;
        }
        Ok(())
    }

    /// All values, row by row whatever the order in the file.
    pub(crate) fn all<T: Number>(mut self) -> Result<Vec<T>> {
        let mut values = Vec::new();
        self.read(&mut values, u64::MAX)?;
        self.in_rows(values)
    }

    /// Hands over whole rows of a matrix, some at a time. Only a matrix in
    /// column order is held in memory as a whole.
    pub(crate) fn rows<T: Number>(
        mut self,
        mut each: impl FnMut(&[T]) -> Result<()>,
    ) -> Result<()> {
        let (rows, columns) = self.matrix()?;
        if columns == 0 {
            return self.read(&mut Vec::<T>::new(), u64::MAX);
        }
        if self.header.fortran && rows > 1 && columns > 1 {
            return each(&self.all()?);
        }
        let block = (BLOCK / 4 / columns).max(1) as u64 * columns as u64;
        let mut values = Vec::new();
        while self.left > 0 {
            values.clear();
            self.read(&mut values, block)?;
            each(&values)?;
        }
        Ok(())
    }

    /// A single text, as `numpy.array("csr")` is saved.
    pub(crate) fn text(mut self) -> Result<String> {
        const LONGEST: usize = 1 << 16;
        let dtype = self.header.dtype;
        if self.total != 1 || dtype.size > LONGEST {
            return Err(self.refuse("is not a single short text", REMEDY));
        }
        let mut bytes = vec![0; dtype.size];
        fill(&mut self.source, &mut bytes, &self.place)?;
        let text: Option<String> = match dtype.kind {
            Kind::Bytes => String::from_utf8(bytes).ok(),
            Kind::Text => bytes
                .chunks_exact(4)
                .map(|c| {
                    let code = [c[0], c[1], c[2], c[3]];
                    char::from_u32(match dtype.big_endian {
                        true => u32::from_be_bytes(code),
                        false => u32::from_le_bytes(code),
                    })
                })
                .collect(),
            _ => {
                return Err(self.refuse(format!("has type {}, no text", self.header.descr), REMEDY));
            }
        };
        self.end()?;
        let text = text.ok_or_else(|| self.refuse("is a text that is not Unicode", REMEDY))?;
        Ok(text.trim_end_matches('\0').to_owned())
    }

    fn in_rows<T: Number>(&self, values: Vec<T>) -> Result<Vec<T>> {
        let longer_than_one = self.header.shape.iter().filter(|&&length| length > 1).count();
        if !self.header.fortran || longer_than_one < 2 {
            return Ok(values);
        }
        let (rows, columns) = self.matrix()?;
        Ok(transpose(&values, rows as usize, columns))
    }

    /// After the last value: nothing may follow. Reading on also lets an
    /// archive compare its checksum.
    fn end(&mut self) -> Result<()> {
        let mut more = [0];
        match read_some(&mut self.source, &mut more).map_err(|error| self.unreadable(&error))? {
            0 => Ok(()),
            _ => Err(self.refuse("has bytes after its last value", REMEDY)),
        }
    }

    fn unreadable(&self, error: &std::io::Error) -> Error {
        unreadable(&self.place, error)
    }

    /// A place in the array as Python would write it.
    fn shown_index(&self, index: u64) -> String {
        match self.header.shape[..] {
            [rows, columns] if rows > 0 && columns > 0 => match self.header.fortran {
                false => format!("[{}, {}]", index / columns, index % columns),
                true => format!("[{}, {}]", index % rows, index / rows),
            },
            _ => format!("[{index}]"),
        }
    }
}

/// Reads once, again where a signal came between.
fn read_some(source: &mut impl Read, buffer: &mut [u8]) -> std::io::Result<usize> {
    loop {
        match source.read(buffer) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

fn fill(source: &mut impl Read, buffer: &mut [u8], place: &Place) -> Result<()> {
    source.read_exact(buffer).map_err(|error| unreadable(place, &error))
}

/// An error while reading is the file's fault (cut short, damaged) more often
/// than the machine's; the message carries either.
fn unreadable(place: &Place, error: &std::io::Error) -> Error {
    let whole = match place.at {
        At::Member(_) => "the archive",
        _ => "the file",
    };
    let problem = match error.kind() {
        std::io::ErrorKind::UnexpectedEof => "ends before its last value".to_owned(),
        _ => format!("cannot be read: {error}"),
    };
    Error::input(place.clone(), problem, format!("fetch {whole} again or save it again"))
}

#[cfg(test)]
mod tests {
    use super::super::header;
    use super::*;

    fn array(descr: &str, shape: &[u64], bytes: &[u8]) -> Vec<u8> {
        let mut file = header(descr, shape);
        file.extend_from_slice(bytes);
        file
    }

    fn open(file: &[u8]) -> Result<NpyReader<&[u8]>> {
        NpyReader::new(file, Path::new("a.npy"), Some(file.len() as u64))
    }

    fn fortran(file: &mut [u8]) {
        let at = file.windows(5).position(|word| word == b"False").unwrap();
        file[at..at + 5].copy_from_slice(b"True ");
    }

    #[test]
    fn rows_come_in_blocks_and_in_order() {
        let values: Vec<f32> = (0..300_000).map(|i| i as f32).collect();
        let file = array("<f4", &[100_000, 3], bytemuck::cast_slice(&values));
        let (mut seen, mut blocks) = (Vec::new(), 0);
        let reader = open(&file).unwrap();
        reader
            .rows(|rows: &[f32]| {
                assert_eq!(rows.len() % 3, 0);
                seen.extend_from_slice(rows);
                blocks += 1;
                Ok(())
            })
            .unwrap();
        assert_eq!(seen, values);
        assert!(blocks > 1);
    }

    #[test]
    fn column_order_is_turned() {
        let mut file = array("|u1", &[2, 3], &[1, 2, 3, 4, 5, 6]);
        fortran(&mut file);
        assert_eq!(open(&file).unwrap().all::<i64>().unwrap(), [1, 3, 5, 2, 4, 6]);
        let mut seen = Vec::new();
        open(&file)
            .unwrap()
            .rows(|rows: &[f32]| {
                seen.extend_from_slice(rows);
                Ok(())
            })
            .unwrap();
        assert_eq!(seen, [1.0, 3.0, 5.0, 2.0, 4.0, 6.0]);
        let mut file = array("|u1", &[2, 1, 3], &[0; 6]);
        fortran(&mut file);
        assert!(open(&file).unwrap().all::<i64>().is_err(), "three dimensions");
    }

    #[test]
    fn lengths_are_checked_before_anything_is_allocated() {
        let file = array("<f8", &[1 << 60], &[0; 16]);
        let error = open(&file).unwrap_err().to_string();
        assert!(error.contains("takes 9223372036854775808 bytes but 16 follow"), "{error}");
        // Length unknown, as from a pipe: memory grows with what arrives.
        let reader = NpyReader::new(&file[..], Path::new("a.npy"), None).unwrap();
        let error = reader.all::<f32>().unwrap_err().to_string();
        assert!(error.contains("a.npy: ends before its last value"), "{error}");
    }

    #[test]
    fn cut_or_longer_files_are_refused() {
        let file = array("<i4", &[2], &[1, 0, 0, 0, 2, 0, 0, 0]);
        assert_eq!(open(&file).unwrap().all::<i64>().unwrap(), [1, 2]);
        for end in 0..file.len() {
            assert!(open(&file[..end]).is_err(), "cut at {end}");
        }
        let mut longer = file.clone();
        longer.push(0);
        assert!(open(&longer).is_err());
        let reader = NpyReader::new(&longer[..], Path::new("a.npy"), None).unwrap();
        let error = reader.all::<i64>().unwrap_err().to_string();
        assert!(error.contains("bytes after its last value"), "{error}");
    }

    #[test]
    fn a_value_that_does_not_fit_is_named_by_its_place() {
        let file = array("<i2", &[2, 2], &[1, 0, 2, 0, 3, 0, 0xff, 0xff]);
        let error = open(&file).unwrap().all::<u32>().unwrap_err().to_string();
        assert!(error.contains("value [1, 1] is -1"), "{error}");
    }

    #[test]
    fn texts_are_read_alone_and_never_as_numbers() {
        assert_eq!(open(&array("|S4", &[], b"csr\0")).unwrap().text().unwrap(), "csr");
        let wide = b"c\0\0\0s\0\0\0c\0\0\0";
        assert_eq!(open(&array("<U3", &[], wide)).unwrap().text().unwrap(), "csc");
        assert!(open(&array("<U1", &[], &[0xff; 4])).unwrap().text().is_err());
        assert!(open(&array("<i4", &[], &[0; 4])).unwrap().text().is_err());
        let error = open(&array("|O", &[3], b"\x80\x02.")).unwrap().all::<i64>().unwrap_err();
        assert!(error.to_string().contains("never decoded"), "{error}");
        assert!(open(&array("<U1", &[2], &[0; 8])).unwrap().all::<f32>().is_err());
    }
}
