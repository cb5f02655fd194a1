//! What does a `.npy` file hold?
//!
//! Layout: the magic `\x93NUMPY`, a version (major, minor), the length of the
//! header (two bytes little-endian in version 1, four in 2 and 3), the header
//! itself, then the values without gaps. The header is a Python dictionary in
//! text, `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`, filled
//! up with spaces and one line feed.
//!
//! The dictionary is parsed strictly, in any order of its keys. Values of the
//! header are claims: nothing here allocates by them.

mod number;
mod read;

pub(crate) use number::{Dtype, Kind, Number, decode, transpose};
pub(crate) use read::NpyReader;

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// Longer headers belong to structured arrays, which are not read.
const LONGEST_HEADER: usize = 1 << 16;

/// NumPy's own limit.
const MOST_DIMENSIONS: usize = 64;

/// What a `.npy` header says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Header {
    /// The type as NumPy spells it: `<f4`.
    pub(crate) descr: String,
    /// The type, understood.
    pub(crate) dtype: Dtype,
    /// Whether the first index runs fastest.
    pub(crate) fortran: bool,
    /// Empty for a single value.
    pub(crate) shape: Vec<u64>,
}

impl Header {
    /// Number of values.
    pub(crate) fn values(&self) -> Result<u64, String> {
        // A zero anywhere makes the array empty, whatever the other lengths.
        if self.shape.contains(&0) {
            return Ok(0);
        }
        self.shape
            .iter()
            .try_fold(1u64, |product, &length| product.checked_mul(length))
            .ok_or_else(|| format!("shape {} has more values than 2^64", self.shown_shape()))
    }

    /// Bytes that the values take.
    pub(crate) fn bytes(&self) -> Result<u64, String> {
        self.values()?
            .checked_mul(self.dtype.size as u64)
            .ok_or_else(|| format!("shape {} takes more than 2^64 bytes", self.shown_shape()))
    }

    /// The shape as Python prints it.
    pub(crate) fn shown_shape(&self) -> String {
        shape_text(&self.shape)
    }
}

fn shape_text(shape: &[u64]) -> String {
    let lengths: Vec<String> = shape.iter().map(u64::to_string).collect();
    match lengths.as_slice() {
        [one] => format!("({one},)"),
        _ => format!("({})", lengths.join(", ")),
    }
}

/// The bytes before the values of a version 1.0 file in C order, filled up to a
/// multiple of 64 so that mapped values are aligned.
pub(crate) fn header(descr: &str, shape: &[u64]) -> Vec<u8> {
    let dict =
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {}, }}", shape_text(shape));
    let before = MAGIC.len() + 4;
    let total = (before + dict.len() + 1).next_multiple_of(64);
    let length = u16::try_from(total - before).expect("our own arrays have a few dimensions");
    let mut bytes = Vec::with_capacity(total);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&[1, 0]);
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(dict.as_bytes());
    bytes.resize(total - 1, b' ');
    bytes.push(b'\n');
    bytes
}

/// Reads the header at the start of `bytes`; also says where the values begin.
pub(crate) fn parse_header(bytes: &[u8]) -> Result<(Header, usize), String> {
    let start = bytes.get(..10).ok_or("is too short for a .npy file")?;
    let mut prefix = [0; 10];
    prefix.copy_from_slice(start);
    let (before, wide) = preamble(prefix)?;
    let length = if wide {
        let field = bytes.get(8..12).ok_or("is too short for a .npy file")?;
        u32::from_le_bytes([field[0], field[1], field[2], field[3]]) as usize
    } else {
        u16::from_le_bytes([bytes[8], bytes[9]]) as usize
    };
    let end = before.saturating_add(check_header_length(length)?);
    let text = bytes
        .get(before..end)
        .ok_or_else(|| format!("ends inside its header, which should be {length} bytes long"))?;
    Ok((parse_dict(text)?, end))
}

/// Checks magic and version; answers how many bytes stand before the header
/// and whether its length takes four bytes.
fn preamble(prefix: [u8; 10]) -> Result<(usize, bool), String> {
    if &prefix[..6] != MAGIC {
        return Err("does not begin with \\x93NUMPY, so it is no .npy file".into());
    }
    match (prefix[6], prefix[7]) {
        (1, 0) => Ok((10, false)),
        (2 | 3, 0) => Ok((12, true)),
        (major, minor) => Err(format!(".npy version {major}.{minor} is not known")),
    }
}

fn check_header_length(length: usize) -> Result<usize, String> {
    if length > LONGEST_HEADER {
        return Err(format!("its header claims {length} bytes, more than {LONGEST_HEADER}"));
    }
    Ok(length)
}

/// The dictionary of a header.
fn parse_dict(text: &[u8]) -> Result<Header, String> {
    let text = std::str::from_utf8(text).map_err(|_| "its header is not text".to_owned())?;
    let mut parser = Parser { rest: text.trim_end_matches([' ', '\n', '\r', '\t']) };
    let (mut descr, mut fortran, mut shape) = (None, None, None);
    parser.expect('{')?;
    while !parser.accept('}') {
        let key = parser.string()?;
        parser.expect(':')?;
        let repeated = match key {
            "descr" => descr.replace(parser.string()?).is_some(),
            "fortran_order" => fortran.replace(parser.boolean()?).is_some(),
            "shape" => shape.replace(parser.shape()?).is_some(),
            _ => return Err(format!("its header has the unknown key {key:?}")),
        };
        if repeated {
            return Err(format!("its header has the key {key:?} twice"));
        }
        if !parser.accept(',') {
            parser.expect('}')?;
            break;
        }
    }
    if !parser.rest.trim_start().is_empty() {
        return Err("its header goes on after the dictionary".into());
    }
    let (Some(descr), Some(fortran), Some(shape)) = (descr, fortran, shape) else {
        return Err("its header lacks 'descr', 'fortran_order' or 'shape'".into());
    };
    let dtype = Dtype::parse(descr)?;
    let header = Header { descr: descr.to_owned(), dtype, fortran, shape };
    header.bytes()?;
    Ok(header)
}

/// A cursor over the text of a header.
struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn accept(&mut self, wanted: char) -> bool {
        let trimmed = self.rest.trim_start_matches(' ');
        match trimmed.strip_prefix(wanted) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, wanted: char) -> Result<(), String> {
        if self.accept(wanted) {
            return Ok(());
        }
        Err(format!("its header has {} where {wanted:?} should stand", self.shown_rest()))
    }

    fn shown_rest(&self) -> String {
        crate::error::shown(self.rest.trim_start_matches(' ').get(..1).unwrap_or(""))
    }

    fn string(&mut self) -> Result<&'a str, String> {
        let quote = if self.accept('\'') {
            '\''
        } else if self.accept('"') {
            '"'
        } else if self.accept('[') {
            return Err("is a structured array (a record of several fields)".into());
        } else {
            return Err(format!("its header has {} instead of a text", self.shown_rest()));
        };
        let (text, rest) =
            self.rest.split_once(quote).ok_or("its header has a text without end")?;
        if text.contains('\\') {
            return Err("its header has a text with a backslash".into());
        }
        self.rest = rest;
        Ok(text)
    }

    fn boolean(&mut self) -> Result<bool, String> {
        let trimmed = self.rest.trim_start_matches(' ');
        for (word, value) in [("True", true), ("False", false)] {
            if let Some(rest) = trimmed.strip_prefix(word) {
                self.rest = rest;
                return Ok(value);
            }
        }
        Err("its header has neither True nor False as 'fortran_order'".into())
    }

    fn shape(&mut self) -> Result<Vec<u64>, String> {
        self.expect('(')?;
        let mut shape = Vec::new();
        let mut last_comma = true;
        while !self.accept(')') {
            if !last_comma {
                return Err("its header has a shape that is not a list of numbers".into());
            }
            if shape.len() == MOST_DIMENSIONS {
                return Err(format!("has more than {MOST_DIMENSIONS} dimensions"));
            }
            shape.push(self.number()?);
            last_comma = self.accept(',');
        }
        // `(3)` is a number in Python, not a tuple.
        if shape.len() == 1 && !last_comma {
            return Err("its header has a number instead of a tuple as 'shape'".into());
        }
        Ok(shape)
    }

    fn number(&mut self) -> Result<u64, String> {
        let trimmed = self.rest.trim_start_matches(' ');
        let end = trimmed.find(|c: char| !c.is_ascii_digit()).unwrap_or(trimmed.len());
        let (digits, rest) = trimmed.split_at(end);
        let length = digits
            .parse()
            .map_err(|_| format!("its header has the length {} in its shape", shown(trimmed)))?;
        // Python 2 wrote long integers with an L.
        self.rest = rest.strip_prefix('L').unwrap_or(rest);
        Ok(length)
    }
}

fn shown(text: &str) -> String {
    let end = text.find([',', ')', ' ']).unwrap_or(text.len());
    crate::error::shown(&text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(major: u8, dict: &str) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&[major, 0]);
        match major {
            1 => bytes.extend_from_slice(&(dict.len() as u16).to_le_bytes()),
            _ => bytes.extend_from_slice(&(dict.len() as u32).to_le_bytes()),
        }
        bytes.extend_from_slice(dict.as_bytes());
        bytes
    }

    #[test]
    fn our_own_headers_are_read_back() {
        for shape in [vec![], vec![7], vec![3, 4], vec![1 << 40, 2, 3]] {
            let bytes = header("<f4", &shape);
            assert_eq!(bytes.len() % 64, 0);
            assert_eq!(bytes.last(), Some(&b'\n'));
            let (header, start) = parse_header(&bytes).unwrap();
            assert_eq!((header.shape, start), (shape, bytes.len()));
            assert_eq!((header.descr.as_str(), header.fortran), ("<f4", false));
        }
    }

    #[test]
    fn every_version_and_order_of_keys_is_read() {
        let dicts = [
            "{'descr': '<i8', 'fortran_order': True, 'shape': (2, 3), }   \n",
            "{\"shape\": (2L, 3L), \"fortran_order\": True, \"descr\": \"<i8\"}",
            "{ 'fortran_order' :True,'descr':'<i8','shape':(2,3,)}\n",
        ];
        for dict in dicts {
            for major in [1, 2, 3] {
                let bytes = version(major, dict);
                let (header, start) = parse_header(&bytes).unwrap();
                assert_eq!((header.shape.as_slice(), header.fortran), (&[2, 3][..], true));
                assert_eq!(start, bytes.len());
            }
        }
    }

    #[test]
    fn wrong_headers_are_refused_with_a_reason() {
        let good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
        for (from, to, reason) in [
            ("'descr'", "'dtype'", "unknown key \"dtype\""),
            ("'shape': (2,), ", "", "lacks"),
            ("False", "0", "neither True nor False"),
            ("(2,)", "(2)", "instead of a tuple"),
            ("(2,)", "(-2,)", "the length \"-2\""),
            ("(2,)", "(2 3)", "not a list of numbers"),
            ("(2,)", "(99999999999999999999,)", "the length"),
            ("(2,)", "(4294967296, 4294967296, 4)", "more values than 2^64"),
            ("(2,)", "(9223372036854775807,)", "more than 2^64 bytes"),
            ("'<f4'", "'<c8'", "type '<c8'"),
            ("'<f4'", "[('a', '<f4')]", "structured"),
            ("'<f4'", "'<f4", "should stand"),
            ("}", "} 1", "goes on"),
            ("}", "", "instead of a text"),
            ("'shape': (2,)", "'descr': '<f4'", "twice"),
        ] {
            let error = parse_header(&version(1, &good.replacen(from, to, 1))).unwrap_err();
            assert!(error.contains(reason), "{from} -> {to}: {error}");
        }
        let dimensions = format!("({})", "1,".repeat(65));
        let error = parse_header(&version(1, &good.replace("(2,)", &dimensions))).unwrap_err();
        assert!(error.contains("dimensions"), "{error}");
        let bytes = version(1, good);
        for end in 0..bytes.len() {
            assert!(parse_header(&bytes[..end]).is_err(), "cut at {end}");
        }
        assert!(parse_header(&version(4, good)).unwrap_err().contains("version 4.0"));
        let mut long = version(2, good);
        long[8..12].fill(0xff);
        assert!(parse_header(&long).unwrap_err().contains("claims 4294967295 bytes"));
    }
}
