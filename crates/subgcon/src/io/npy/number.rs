//! What number do these bytes stand for?
//!
//! NumPy's number types, turned into the few that graphs need. A value that
//! the wanted type cannot hold is an error, never wrapped or cut; only the
//! step to `f32` rounds, because features are kept as `f32`.

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One byte, 0 or 1.
    Bool,
    /// Signed integers of 1, 2, 4 or 8 bytes.
    Signed,
    /// Unsigned integers of 1, 2, 4 or 8 bytes.
    Unsigned,
    /// Floating point of 2, 4 or 8 bytes.
    Float,
    /// Byte strings, filled up with zeros.
    Bytes,
    /// Unicode strings, four bytes a character, filled up with zeros.
    Text,
    /// Python objects as a pickle; never decoded.
    Object,
}

/// The type of an array's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dtype {
    /// What a value is.
    pub(crate) kind: Kind,
    /// Bytes a value takes; 0 for objects.
    pub(crate) size: usize,
    /// Whether the most significant byte comes first.
    pub(crate) big_endian: bool,
}

impl Dtype {
    /// From NumPy's spelling: a byte order (`<`, `>`, `|`, `=`), a letter and a size.
    pub(crate) fn parse(descr: &str) -> Result<Dtype, String> {
        let unknown = || format!("has values of type '{descr}', which is not read");
        let mut letters = descr.chars();
        let (order, letter) = (letters.next(), letters.next());
        let (big_endian, Some(letter)) = (order == Some('>'), letter) else {
            return Err(unknown());
        };
        if !matches!(order, Some('<' | '>' | '|' | '=')) {
            return Err(unknown());
        }
        let digits = letters.as_str();
        if letter == 'O' {
            return Ok(Dtype { kind: Kind::Object, size: 0, big_endian });
        }
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(unknown());
        }
        let size: usize = digits.parse().map_err(|_| unknown())?;
        let (kind, size) = match (letter, size) {
            ('b', 1) => (Kind::Bool, 1),
            ('i', 1 | 2 | 4 | 8) => (Kind::Signed, size),
            ('u', 1 | 2 | 4 | 8) => (Kind::Unsigned, size),
            ('f', 2 | 4 | 8) => (Kind::Float, size),
            ('S', _) => (Kind::Bytes, size),
            ('U', _) => (Kind::Text, size.checked_mul(4).ok_or_else(unknown)?),
            _ => return Err(unknown()),
        };
        Ok(Dtype { kind, size, big_endian })
    }
}

/// A number that values of an array can be read as.
pub(crate) trait Number: Copy + Default {
    /// From any signed integer.
    fn from_signed(value: i64) -> Option<Self>;
    /// From any unsigned integer.
    fn from_unsigned(value: u64) -> Option<Self>;
    /// From floating point.
    fn from_float(value: f64) -> Option<Self>;
    /// What it is, for messages.
    const NAME: &'static str;
}

impl Number for f32 {
    fn from_signed(value: i64) -> Option<f32> {
        Some(value as f32)
    }
    fn from_unsigned(value: u64) -> Option<f32> {
        Some(value as f32)
    }
    fn from_float(value: f64) -> Option<f32> {
        Some(value as f32)
    }
    const NAME: &'static str = "a number";
}

/// A whole number in floating point, where no neighbouring whole number would
/// be stored the same way.
fn whole(value: f64) -> Option<i64> {
    const EXACT: f64 = (1u64 << 53) as f64;
    (value.fract() == 0.0 && value.abs() < EXACT).then_some(value as i64)
}

macro_rules! integer {
    ($type:ty, $name:literal) => {
        impl Number for $type {
            fn from_signed(value: i64) -> Option<$type> {
                <$type>::try_from(value).ok()
            }
            fn from_unsigned(value: u64) -> Option<$type> {
                <$type>::try_from(value).ok()
            }
            fn from_float(value: f64) -> Option<$type> {
                <$type>::try_from(whole(value)?).ok()
            }
            const NAME: &'static str = $name;
        }
    };
}

integer!(i64, "an integer of 64 bits");
integer!(u64, "an integer from 0 to 2^64 - 1");
integer!(u32, "an integer from 0 to 2^32 - 1");

/// Nought or one: masks and memberships.
impl Number for bool {
    fn from_signed(value: i64) -> Option<bool> {
        matches!(value, 0 | 1).then_some(value == 1)
    }
    fn from_unsigned(value: u64) -> Option<bool> {
        matches!(value, 0 | 1).then_some(value == 1)
    }
    fn from_float(value: f64) -> Option<bool> {
        (value == 0.0 || value == 1.0).then_some(value == 1.0)
    }
    const NAME: &'static str = "0 or 1";
}

/// The first value that could not be read: its place among the values that
/// were handed over, and what it was.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Misfit {
    pub(crate) index: usize,
    pub(crate) problem: String,
}

/// Reads whole values and appends them to `out`.
pub(crate) fn decode<T: Number>(
    dtype: Dtype,
    bytes: &[u8],
    out: &mut Vec<T>,
) -> Result<(), Misfit> {
    macro_rules! decode_as {
        ($type:ty, $convert:expr) => {{
            for (index, chunk) in bytes.chunks_exact(size_of::<$type>()).enumerate() {
                let mut value = [0; size_of::<$type>()];
                value.copy_from_slice(chunk);
                if dtype.big_endian {
                    value.reverse();
                }
                let value = <$type>::from_le_bytes(value);
                match $convert(value) {
                    Some(number) => out.push(number),
                    None => {
                        let problem = format!("is {value}, which is not {}", T::NAME);
                        return Err(Misfit { index, problem });
                    }
                }
            }
        }};
    }
    match (dtype.kind, dtype.size) {
        (Kind::Bool, 1) => {
            decode_as!(u8, |byte: u8| if byte < 2 { T::from_unsigned(byte.into()) } else { None });
        }
        (Kind::Signed, 1) => decode_as!(i8, |value: i8| T::from_signed(value.into())),
        (Kind::Signed, 2) => decode_as!(i16, |value: i16| T::from_signed(value.into())),
        (Kind::Signed, 4) => decode_as!(i32, |value: i32| T::from_signed(value.into())),
        (Kind::Signed, 8) => decode_as!(i64, T::from_signed),
        (Kind::Unsigned, 1) => decode_as!(u8, |value: u8| T::from_unsigned(value.into())),
        (Kind::Unsigned, 2) => decode_as!(u16, |value: u16| T::from_unsigned(value.into())),
        (Kind::Unsigned, 4) => decode_as!(u32, |value: u32| T::from_unsigned(value.into())),
        (Kind::Unsigned, 8) => decode_as!(u64, T::from_unsigned),
        (Kind::Float, 2) => decode_as!(u16, |bits: u16| T::from_float(half(bits))),
        (Kind::Float, 4) => decode_as!(f32, |value: f32| T::from_float(value.into())),
        (Kind::Float, 8) => decode_as!(f64, T::from_float),
        (Kind::Object, _) => {
            let problem = "is a Python object (a pickle inside .npy), which is never decoded";
            return Err(Misfit { index: 0, problem: problem.into() });
        }
        _ => return Err(Misfit { index: 0, problem: "is a text, not a number".into() }),
    }
    Ok(())
}

/// IEEE half precision: 1 sign, 5 exponent (bias 15), 10 fraction bits.
fn half(bits: u16) -> f64 {
    let fraction = f64::from(bits & 0x3ff);
    let magnitude = match (bits >> 10) & 0x1f {
        0 => fraction * (-24f64).exp2(),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        exponent => (1.0 + fraction / 1024.0) * (f64::from(exponent) - 15.0).exp2(),
    };
    if bits >> 15 == 1 { -magnitude } else { magnitude }
}

/// Turns column order into row order: (columns, rows) becomes (rows, columns).
pub(crate) fn transpose<T: Number>(values: &[T], rows: usize, columns: usize) -> Vec<T> {
    let mut out = vec![T::default(); values.len()];
    for (column, part) in values.chunks_exact(rows.max(1)).enumerate() {
        for (row, &value) in part.iter().enumerate() {
            out[row * columns + column] = value;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T: Number>(descr: &str, bytes: &[u8]) -> Result<Vec<T>, Misfit> {
        let mut out = Vec::new();
        decode(Dtype::parse(descr).unwrap(), bytes, &mut out)?;
        Ok(out)
    }

    #[test]
    fn every_type_and_byte_order_is_read() {
        assert_eq!(read::<f32>("|b1", &[0, 1]), Ok(vec![0.0, 1.0]));
        assert_eq!(read::<i64>("|i1", &[0xff]), Ok(vec![-1]));
        assert_eq!(read::<i64>("<i2", &[1, 2]), Ok(vec![0x201]));
        assert_eq!(read::<i64>(">i2", &[1, 2]), Ok(vec![0x102]));
        assert_eq!(read::<u32>("<i4", &7i32.to_le_bytes()), Ok(vec![7]));
        assert_eq!(read::<i64>(">i8", &(-9i64).to_be_bytes()), Ok(vec![-9]));
        assert_eq!(read::<u32>("|u1", &[200]), Ok(vec![200]));
        assert_eq!(read::<u64>(">u8", &u64::MAX.to_be_bytes()), Ok(vec![u64::MAX]));
        assert_eq!(read::<f32>("<f4", &1.5f32.to_le_bytes()), Ok(vec![1.5]));
        assert_eq!(read::<f32>(">f8", &(-0.25f64).to_be_bytes()), Ok(vec![-0.25]));
        assert_eq!(read::<i64>("<f8", &3.0f64.to_le_bytes()), Ok(vec![3]));
        assert_eq!(read::<bool>("<f4", &1f32.to_le_bytes()), Ok(vec![true]));
    }

    /// From Python: `struct.pack('<e', x)`.
    #[test]
    fn half_precision_is_read() {
        for (bits, value) in [(0x3c00, 1.0), (0xc100, -2.5), (0x0001, 5.960464477539063e-8)] {
            assert_eq!(half(bits), value);
        }
        assert_eq!(half(0x7c00), f64::INFINITY);
        assert!(half(0x7e00).is_nan());
    }

    #[test]
    fn values_that_do_not_fit_are_named() {
        let problem = |misfit: Misfit| misfit.problem;
        let error = read::<i64>("<u8", &u64::MAX.to_le_bytes()).map_err(problem).unwrap_err();
        assert!(error.contains("18446744073709551615"), "{error}");
        assert!(read::<u32>("<i4", &(-1i32).to_le_bytes()).is_err());
        assert!(read::<u32>("<i8", &(1i64 << 32).to_le_bytes()).is_err());
        assert!(read::<i64>("<f8", &0.5f64.to_le_bytes()).is_err());
        assert!(read::<i64>("<f8", &f64::NAN.to_le_bytes()).is_err());
        assert!(read::<i64>("<f8", &1e300f64.to_le_bytes()).is_err());
        assert_eq!(read::<bool>("|b1", &[0, 2]).unwrap_err().index, 1);
        assert!(read::<f32>("|O", &[0]).map_err(problem).unwrap_err().contains("pickle"));
        assert!(read::<f32>("<U1", &[0; 4]).map_err(problem).unwrap_err().contains("text"));
    }

    #[test]
    fn strange_types_are_refused() {
        for descr in ["", "<", "<f", "f4", "<f3", "<c8", "<M8[ns]", "<i+4", "|V8", "<é4"] {
            assert!(Dtype::parse(descr).is_err(), "{descr}");
        }
        assert!(Dtype::parse("<U9223372036854775807").is_err());
        assert_eq!(Dtype::parse("<U3").unwrap().size, 12);
    }

    #[test]
    fn columns_become_rows() {
        assert_eq!(transpose(&[1i64, 2, 3, 4, 5, 6], 2, 3), [1, 3, 5, 2, 4, 6]);
        assert!(transpose::<i64>(&[], 0, 3).is_empty());
    }
}
